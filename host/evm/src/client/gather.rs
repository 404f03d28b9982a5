//! Batches requests of several readers: those that arrive within a moment form one list. A reader that asks repeatedly
//! is a [`Participant`]: a list is sent without a pause once all expected participants have asked.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use tokio::sync::Notify;

use crate::{limits, pauses};

/// The lists of requests. Starts no task: every caller that waits for an answer drives the list, so a caller that
/// leaves does not end the list for the others.
pub(super) struct RequestGather<Q, A> {
    state: Mutex<ListState<Q, A>>,
    pause: Duration,
}

struct ListState<Q, A> {
    open: Vec<OpenList<Q, A>>,
    /// By participant, the list that answered its last request; `None` once it has asked again.
    participants: BTreeMap<u64, Option<u64>>,
    next_number: u64,
}

/// A list that still accepts requests.
struct OpenList<Q, A> {
    number: u64,
    /// Lists that already answered this list's callers. The list waits for their other participants.
    after: BTreeSet<u64>,
    /// Whether all requests so far came from participants of earlier lists, which shows who else will ask.
    expected: bool,
    questions: Vec<Q>,
    answers: WeakShared<BoxFuture<'static, Arc<[A]>>>,
    /// The participants that asked.
    participants: Vec<u64>,
    /// Signals that the list is complete.
    whole: Arc<Notify>,
}

/// A reader that asks again as soon as it has an answer. The reader drops it after the last answer.
pub(super) struct Participant<Q, A> {
    gather: Arc<RequestGather<Q, A>>,
    number: u64,
}

type ListAnswers<A> = Shared<BoxFuture<'static, Arc<[A]>>>;

impl<Q, A> Default for RequestGather<Q, A> {
    fn default() -> Self {
        let state = ListState { open: Vec::new(), participants: BTreeMap::new(), next_number: 0 };
        Self { state: Mutex::new(state), pause: pauses::GATHER }
    }
}

impl<Q, A> ListState<Q, A> {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }

    /// Whether the list accepts no more requests, or expects no other participant.
    fn is_whole(&self, list: &OpenList<Q, A>) -> bool {
        list.is_full() || list.expected && !self.participants.values().flatten().any(|after| list.after.contains(after))
    }
}

impl<Q, A> OpenList<Q, A> {
    fn is_full(&self) -> bool {
        self.questions.len() >= limits::REQUESTS_PER_LIST
    }
}

impl<Q, A> RequestGather<Q, A> {
    pub(crate) fn participant(self: Arc<Self>) -> Participant<Q, A> {
        let number = self.change(|state| {
            let number = state.number();
            state.participants.insert(number, None);
            number
        });
        Participant { gather: self, number }
    }

    /// Changes the state, and sends the lists that are complete after the change.
    fn change<T>(&self, change: impl FnOnce(&mut ListState<Q, A>) -> T) -> T {
        let mut state = self.lock();
        let changed = change(&mut state);
        state.open.iter().filter(|list| state.is_whole(list)).for_each(|list| list.whole.notify_one());
        changed
    }

    fn lock(&self) -> MutexGuard<'_, ListState<Q, A>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q, A> Drop for Participant<Q, A> {
    fn drop(&mut self) {
        self.gather.change(|state| state.participants.remove(&self.number));
    }
}

impl<Q: Send + 'static, A: Clone + Send + Sync + 'static> RequestGather<Q, A> {
    /// Answers `question`, which a `participant` or another reader asks. If it opens a list, `send` gets all requests
    /// of the list and returns the answers in the same order. `None` if an answer is missing.
    pub(crate) async fn ask<F>(
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
        state: &mut ListState<Q, A>,
        question: Q,
        participant: Option<u64>,
        send: impl FnOnce(Vec<Q>) -> F + Send + 'static,
    ) -> (ListAnswers<A>, usize)
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let after = participant.and_then(|participant| state.participants.insert(participant, None)).flatten();
        // A list that all its callers have left is no longer driven.
        state.open.retain(|list| list.answers.upgrade().is_some());
        if let Some(list) = state.open.iter_mut().find(|list| !list.is_full())
            && let Some(answers) = list.answers.upgrade()
        {
            list.questions.push(question);
            list.participants.extend(participant);
            list.after.extend(after);
            list.expected &= after.is_some();
            return (answers, list.questions.len() - 1);
        }
        let (gather, number, whole) = (this.clone(), state.number(), Arc::new(Notify::new()));
        let woken = whole.clone();
        let answers = async move { gather.answered(number, woken, send).await }.boxed().shared();
        state.open.extend(answers.downgrade().map(|answers| OpenList {
            number,
            after: after.into_iter().collect(),
            expected: after.is_some(),
            questions: vec![question],
            answers,
            participants: participant.into_iter().collect(),
            whole,
        }));
        (answers, 0)
    }

    /// Sends a list. After its answer, the participants are expected to ask again.
    async fn answered<F: Future<Output = Vec<A>>>(
        &self,
        number: u64,
        whole: Arc<Notify>,
        send: impl FnOnce(Vec<Q>) -> F,
    ) -> Arc<[A]> {
        tokio::select! {
            () = self.pause(number) => {}
            () = whole.notified() => {}
        }
        let list = {
            let mut state = self.lock();
            let place = state.open.iter().position(|list| list.number == number);
            place.map(|place| state.open.swap_remove(place))
        };
        let Some(list) = list else { return Arc::default() };
        let answers = send(list.questions).await.into();
        let mut state = self.lock();
        for participant in list.participants {
            state.participants.entry(participant).and_modify(|after| *after = Some(number));
        }
        answers
    }

    /// Completes when no more requests arrive.
    async fn pause(&self, number: u64) {
        let mut before = 0;
        for _ in 0..pauses::MAX_GATHERS {
            tokio::time::sleep(self.pause).await;
            let now = self.lock().open.iter().find(|list| list.number == number).map_or(0, |list| list.questions.len());
            if now == before {
                break;
            }
            before = now;
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

    async fn ask_at_once(participants: &[Participant<u64, (u64, usize)>]) -> Vec<Option<(u64, usize)>> {
        let asked = participants.iter().map(|one| one.gather.clone().ask(7, Some(one), with_count));
        join_all(asked).await
    }

    #[tokio::test]
    async fn questions_of_one_moment_are_one_list() {
        let gather = Arc::new(RequestGather::default());
        let answers = join_all((0..3).map(|n| gather.clone().ask(n, None, with_count))).await;
        assert_eq!(answers, [Some((0, 3)), Some((10, 3)), Some((20, 3))]);
        assert_eq!(gather.ask(7, None, with_count).await, Some((70, 1)), "a later one is a list of its own");
    }

    #[tokio::test]
    async fn a_list_goes_out_when_all_participants_have_asked() {
        // No pause ends within the test.
        let gather = Arc::new(RequestGather { pause: Duration::from_secs(3_600), ..RequestGather::default() });
        let participants: Vec<_> = (0..3).map(|_| gather.clone().participant()).collect();
        let answered = || gather.lock().participants.values_mut().for_each(|after| *after = Some(0));
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
        assert!(gather.lock().participants.values().all(Option::is_some));
    }

    #[tokio::test]
    async fn those_of_one_full_list_do_not_wait_for_those_of_the_next() {
        let gather = Arc::new(RequestGather { pause: Duration::from_secs(3_600), ..RequestGather::default() });
        let mut participants: Vec<_> =
            (0..2 * limits::REQUESTS_PER_LIST).map(|_| gather.clone().participant()).collect();
        assert_eq!(
            ask_at_once(&participants).await,
            vec![Some((70, limits::REQUESTS_PER_LIST)); 2 * limits::REQUESTS_PER_LIST]
        );
        // One reader of the first list leaves and the others ask again. No reader of the second list asks.
        participants.remove(0);
        let again = ask_at_once(&participants[..limits::REQUESTS_PER_LIST - 1]).await;
        assert_eq!(again, vec![Some((70, limits::REQUESTS_PER_LIST - 1)); limits::REQUESTS_PER_LIST - 1]);
    }

    #[tokio::test]
    async fn a_reader_that_is_no_participant_is_waited_for() {
        let gather = Arc::new(RequestGather::default());
        let participant = gather.clone().participant();
        let (first, second) = tokio::join!(gather.clone().ask(1, Some(&participant), with_count), async {
            tokio::task::yield_now().await;
            gather.clone().ask(2, None, with_count).await
        });
        assert_eq!((first, second), (Some((10, 2)), Some((20, 2))));
    }

    #[tokio::test]
    async fn whoever_leaves_does_not_end_it_for_the_others() {
        let gather = Arc::new(RequestGather::default());
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
        let gather = Arc::new(RequestGather::<u64, u64>::default());
        assert_eq!(gather.ask(1, None, async |_| Vec::new()).await, None);
    }
}
