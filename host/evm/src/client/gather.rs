//! Questions of several readers that go out together: those that come within a moment are answered as one list. A reader
//! that asks again and again has a [`Seat`]: once everybody at the table has asked, the list goes out without a wait.

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
    table: Mutex<Table<Q, A>>,
    /// The open list became whole.
    whole: Notify,
    pause: Duration,
}

struct Table<Q, A> {
    open: Option<Open<Q, A>>,
    /// By number, whether the holder of the seat has the answer to its last question and did not ask again.
    seats: BTreeMap<u64, bool>,
    next_seat: u64,
}

/// The list that still takes questions.
struct Open<Q, A> {
    questions: Vec<Q>,
    answers: WeakShared<BoxFuture<'static, Arc<[A]>>>,
    /// Those who asked from a seat.
    seats: Vec<u64>,
    /// All who asked were expected to.
    expected: bool,
}

/// The place of a reader that asks again as soon as it has an answer. It is to be dropped after the last one.
pub(super) struct Seat<Q, A> {
    gather: Arc<Gather<Q, A>>,
    number: u64,
}

type Answers<A> = Shared<BoxFuture<'static, Arc<[A]>>>;

impl<Q, A> Default for Gather<Q, A> {
    fn default() -> Self {
        let table = Table { open: None, seats: BTreeMap::new(), next_seat: 0 };
        Self { table: Mutex::new(table), whole: Notify::new(), pause: PAUSE }
    }
}

impl<Q, A> Table<Q, A> {
    /// Whether nobody is expected to add a question to the open list.
    fn is_whole(&self) -> bool {
        self.open.as_ref().is_some_and(|list| list.expected) && !self.seats.values().any(|expected| *expected)
    }
}

impl<Q, A> Gather<Q, A> {
    pub fn seat(self: Arc<Self>) -> Seat<Q, A> {
        let number = self.change(|table| {
            table.next_seat += 1;
            table.seats.insert(table.next_seat, false);
            table.next_seat
        });
        Seat { gather: self, number }
    }

    /// Changes the table, and wakes the open list where it is whole then.
    fn change<T>(&self, change: impl FnOnce(&mut Table<Q, A>) -> T) -> T {
        let mut table = self.lock();
        let changed = change(&mut table);
        if table.is_whole() {
            self.whole.notify_one();
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, Table<Q, A>> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Q, A> Drop for Seat<Q, A> {
    fn drop(&mut self) {
        self.gather.change(|table| table.seats.remove(&self.number));
    }
}

impl<Q: Send + 'static, A: Clone + Send + Sync + 'static> Gather<Q, A> {
    /// The answer to `question`, asked from a `seat` or without one. `send` gets the list that it opened, and answers in
    /// its order; `None` where an answer is missing.
    pub async fn ask<F>(
        self: Arc<Self>,
        question: Q,
        seat: Option<&Seat<Q, A>>,
        send: impl FnOnce(Vec<Q>) -> F + Send + 'static,
    ) -> Option<A>
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let seat = seat.map(|seat| seat.number);
        let (answers, place) = self.change(|table| Self::join(&self, table, question, seat, send));
        answers.await.get(place).cloned()
    }

    fn join<F>(
        this: &Arc<Self>,
        table: &mut Table<Q, A>,
        question: Q,
        seat: Option<u64>,
        send: impl FnOnce(Vec<Q>) -> F + Send + 'static,
    ) -> (Answers<A>, usize)
    where
        F: Future<Output = Vec<A>> + Send,
    {
        let expected = seat.and_then(|seat| table.seats.insert(seat, false)) == Some(true);
        if let Some(list) = table.open.as_mut()
            && let Some(answers) = list.answers.upgrade()
        {
            list.questions.push(question);
            list.seats.extend(seat);
            list.expected &= expected;
            return (answers, list.questions.len() - 1);
        }
        let gather = this.clone();
        let answers = async move { gather.answered(send).await }.boxed().shared();
        let seats = seat.into_iter().collect();
        table.open = answers.downgrade().map(|answers| Open { questions: vec![question], answers, seats, expected });
        (answers, 0)
    }

    /// Sends the open list. From its answer on, those at the table are expected to ask again.
    async fn answered<F: Future<Output = Vec<A>>>(&self, send: impl FnOnce(Vec<Q>) -> F) -> Arc<[A]> {
        tokio::select! {
            () = self.pause() => {}
            () = self.whole() => {}
        }
        let Some(list) = self.lock().open.take() else { return Arc::default() };
        let answers = send(list.questions).await.into();
        let mut table = self.lock();
        for seat in list.seats {
            table.seats.entry(seat).and_modify(|expected| *expected = true);
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
    async fn a_list_goes_out_when_everybody_at_the_table_has_asked() {
        // No pause ends within the test.
        let gather = Arc::new(Gather { pause: Duration::from_secs(3_600), ..Gather::default() });
        let seats: Vec<_> = (0..3).map(|_| gather.clone().seat()).collect();
        let answered = || gather.lock().seats.values_mut().for_each(|expected| *expected = true);
        answered();
        let all = seats.iter().zip(0..).map(|(seat, n)| gather.clone().ask(n, Some(seat), with_count));
        assert_eq!(join_all(all).await, [Some((0, 3)), Some((10, 3)), Some((20, 3))]);
        let mut seats = seats.into_iter();
        let (one, other) = (seats.next().unwrap(), seats.next().unwrap());
        let (first, second, ()) = tokio::join!(
            gather.clone().ask(1, Some(&one), with_count),
            gather.clone().ask(2, Some(&other), with_count),
            async { drop(seats) }
        );
        assert_eq!((first, second), (Some((10, 2)), Some((20, 2))), "one who leaves is not waited for");
        assert!(gather.lock().seats.values().all(|expected| *expected));
    }

    #[tokio::test]
    async fn somebody_without_a_seat_is_waited_for_as_ever() {
        let gather = Arc::new(Gather::default());
        let seat = gather.clone().seat();
        let (first, second) = tokio::join!(gather.clone().ask(1, Some(&seat), with_count), async {
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
