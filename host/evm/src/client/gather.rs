//! Questions of several readers that go out together: those that come within a moment are answered as one list. A reader
//! that asks several times is a [`Participant`]: once all participants have asked, the list goes out without a wait.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use tokio::sync::Notify;

/// After so long without another question, those that came are sent.
const PAUSE: Duration = Duration::from_millis(4);
/// So many pauses are the longest wait, also where questions keep coming.
const MOST_PAUSES: usize = 8;

/// One list of questions at a time. It starts no task: whoever waits for an answer drives the list, so that one who
/// leaves does not end it for the others.
pub(super) struct Gather<Q, A> {
    state: Mutex<State<Q, A>>,
    /// The open list became whole.
    whole: Notify,
    pause: Duration,
}

struct State<Q, A> {
    open: Option<Open<Q, A>>,
    /// By number, whether the participant has the answer to its last question and did not ask again.
    participants: BTreeMap<u64, bool>,
    next_number: u64,
}

/// The list that still takes questions.
struct Open<Q, A> {
    questions: Vec<Q>,
    answers: WeakShared<BoxFuture<'static, Arc<[A]>>>,
    /// The participants who asked.
    participants: Vec<u64>,
    /// All who asked were expected to.
    expected: bool,
}

/// A reader that asks again as soon as it has an answer. The reader drops it after the last answer.
pub(super) struct Participant<Q, A> {
    gather: Arc<Gather<Q, A>>,
    number: u64,
}

type Answers<A> = Shared<BoxFuture<'static, Arc<[A]>>>;

impl<Q, A> Default for Gather<Q, A> {
    fn default() -> Self {
        let state = State { open: None, participants: BTreeMap::new(), next_number: 0 };
        Self { state: Mutex::new(state), whole: Notify::new(), pause: PAUSE }
    }
}

impl<Q, A> State<Q, A> {
    /// Whether nobody is expected to add a question to the open list.
    fn is_whole(&self) -> bool {
        self.open.as_ref().is_some_and(|list| list.expected) && !self.participants.values().any(|expected| *expected)
    }
}

impl<Q, A> Gather<Q, A> {
    pub fn participant(self: Arc<Self>) -> Participant<Q, A> {
        let number = self.change(|state| {
            state.next_number += 1;
            state.participants.insert(state.next_number, false);
            state.next_number
        });
        Participant { gather: self, number }
    }

    /// Changes the state, and wakes the open list where it is whole then.
    fn change<T>(&self, change: impl FnOnce(&mut State<Q, A>) -> T) -> T {
        let mut state = self.lock();
        let changed = change(&mut state);
        if state.is_whole() {
            self.whole.notify_one();
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, State<Q, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q, A> Drop for Participant<Q, A> {
    fn drop(&mut self) {
        self.gather.change(|state| state.participants.remove(&self.number));
    }
}

impl<Q: Send + 'static, A: Clone + Send + Sync + 'static> Gather<Q, A> {
    /// Answers `question`, which a `participant` or another reader asks. Where the question opens a list, `send` gets all
    /// questions of the list and returns the answers in their order. `None` where an answer is missing.
    pub async fn ask<F>(
        self: Arc<Self>,
        question: Q,
        participant: Option<&Participant<Q, A>>,
        send: impl FnOnce(Vec<Q>) -> F + Send + 'static,
    ) -> Option<A>
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let participant = participant.map(|participant| participant.number);
        let (answers, place) = self.change(|state| Self::join(&self, state, question, participant, send));
        answers.await.get(place).cloned()
    }

    fn join<F>(
        this: &Arc<Self>,
        state: &mut State<Q, A>,
        question: Q,
        participant: Option<u64>,
        send: impl FnOnce(Vec<Q>) -> F + Send + 'static,
    ) -> (Answers<A>, usize)
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let expected = participant.and_then(|participant| state.participants.insert(participant, false)) == Some(true);
        if let Some(list) = state.open.as_mut()
            && let Some(answers) = list.answers.upgrade()
        {
            list.questions.push(question);
            list.participants.extend(participant);
            list.expected &= expected;
            return (answers, list.questions.len() - 1);
        }
        let gather = this.clone();
        let answers = async move { gather.answered(send).await }.boxed().shared();
        let participants = participant.into_iter().collect();
        state.open =
            answers.downgrade().map(|answers| Open { questions: vec![question], answers, participants, expected });
        (answers, 0)
    }

    /// Sends the open list. From its answer on, the participants who asked are expected to ask again.
    async fn answered<F: Future<Output = Vec<A>>>(&self, send: impl FnOnce(Vec<Q>) -> F) -> Arc<[A]> {
        tokio::select! {
            () = self.pause() => {}
            () = self.whole() => {}
        }
        let Some(list) = self.lock().open.take() else { return Arc::default() };
        let answers = send(list.questions).await.into();
        let mut state = self.lock();
        for participant in list.participants {
            state.participants.entry(participant).and_modify(|expected| *expected = true);
        }
        answers
    }

    /// Completes when no more questions come.
    async fn pause(&self) {
        let mut before = 0;
        for _ in 0..MOST_PAUSES {
            tokio::time::sleep(self.pause).await;
            let now = self.lock().open.as_ref().map_or(0, |list| list.questions.len());
            if now == before {
                break;
            }
            before = now;
        }
    }

    async fn whole(&self) {
        while !self.lock().is_whole() {
            self.whole.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    async fn with_count(asked: Vec<u64>) -> Vec<(u64, usize)> {
        let all = asked.len();
        asked.into_iter().map(|question| (question * 10, all)).collect()
    }

    #[tokio::test]
    async fn questions_of_one_moment_are_one_list() {
        let gather = Arc::new(Gather::default());
        let answers = join_all((0..3).map(|n| gather.clone().ask(n, None, with_count))).await;
        assert_eq!(answers, [Some((0, 3)), Some((10, 3)), Some((20, 3))]);
        assert_eq!(gather.ask(7, None, with_count).await, Some((70, 1)), "a later one is a list of its own");
    }

    #[tokio::test]
    async fn a_list_goes_out_when_all_participants_have_asked() {
        // No pause ends within the test.
        let gather = Arc::new(Gather { pause: Duration::from_secs(3_600), ..Gather::default() });
        let participants: Vec<_> = (0..3).map(|_| gather.clone().participant()).collect();
        let answered = || gather.lock().participants.values_mut().for_each(|expected| *expected = true);
        answered();
        let all =
            participants.iter().zip(0..).map(|(participant, n)| gather.clone().ask(n, Some(participant), with_count));
        assert_eq!(join_all(all).await, [Some((0, 3)), Some((10, 3)), Some((20, 3))]);
        let mut participants = participants.into_iter();
        let (one, other) = (participants.next().unwrap(), participants.next().unwrap());
        let (first, second, ()) = tokio::join!(
            gather.clone().ask(1, Some(&one), with_count),
            gather.clone().ask(2, Some(&other), with_count),
            async { drop(participants) }
        );
        assert_eq!((first, second), (Some((10, 2)), Some((20, 2))), "one who leaves is not waited for");
        assert!(gather.lock().participants.values().all(|expected| *expected));
    }

    #[tokio::test]
    async fn a_reader_that_is_no_participant_is_waited_for() {
        let gather = Arc::new(Gather::default());
        let participant = gather.clone().participant();
        let (first, second) = tokio::join!(gather.clone().ask(1, Some(&participant), with_count), async {
            tokio::task::yield_now().await;
            gather.clone().ask(2, None, with_count).await
        });
        assert_eq!((first, second), (Some((10, 2)), Some((20, 2))));
    }

    #[tokio::test]
    async fn whoever_leaves_does_not_end_it_for_the_others() {
        let gather = Arc::new(Gather::default());
        let first = tokio::spawn(gather.clone().ask(1, None, with_count));
        tokio::task::yield_now().await;
        let second = tokio::spawn(gather.clone().ask(2, None, with_count));
        tokio::task::yield_now().await;
        first.abort();
        assert_eq!(second.await.unwrap(), Some((20, 2)));
        let gone = gather.clone().ask(3, None, with_count);
        drop(gone);
        assert_eq!(gather.ask(4, None, with_count).await, Some((40, 1)));
    }

    #[tokio::test]
    async fn a_missing_answer_is_none() {
        let gather = Arc::new(Gather::<u64, u64>::default());
        assert_eq!(gather.ask(1, None, async |_| Vec::new()).await, None);
    }
}
