//! Single-flight: concurrent callers with the same key share one piece of work.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};

/// The result of work that several callers wait for.
pub type Outcome<T> = Shared<BoxFuture<'static, T>>;

/// Work in progress by key. It guarantees:
/// - At most one piece of work per key runs; callers that arrive while it runs get its result.
/// - Results are not reused: the entry of a key is removed before its result is returned, even if the work panics or is
///   dropped.
/// - It starts no task. Callers drive the work, and work without a waiting caller is dropped. To let it continue
///   without callers, the caller that started it spawns a clone of [`Work::outcome`].
///
/// `S` is state that callers share while the work runs, such as a channel with its progress.
#[derive(Clone)]
pub struct SingleFlight<K, T, S = ()> {
    entries: Arc<Flights<K, T, S>>,
}

type Flights<K, T, S> = Mutex<HashMap<K, Flight<T, S>>>;

/// Work that a caller started or joined.
pub struct Work<T, S = ()> {
    pub outcome: Outcome<T>,
    pub state: S,
    /// Whether an earlier caller started it.
    pub joined: bool,
}

struct Flight<T, S> {
    outcome: WeakShared<BoxFuture<'static, T>>,
    state: S,
    /// Distinguishes this entry from a later one of the same key.
    identity: Arc<()>,
}

impl<K, T, S> Default for SingleFlight<K, T, S> {
    fn default() -> Self {
        Self { entries: Arc::default() }
    }
}

impl<K, T, S> SingleFlight<K, T, S>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
    S: Clone + Send + 'static,
{
    /// Returns the running work of `key`, or starts the work that `start` returns. `start` must not use this value
    /// again.
    pub fn join<F>(&self, key: K, start: impl FnOnce() -> (F, S)) -> Work<T, S>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut entries = lock(&self.entries);
        match entries.get(&key).and_then(Flight::join) {
            Some(work) => work,
            None => {
                let (work, state) = start();
                self.start(&mut entries, key, work, state)
            }
        }
    }

    /// Like [`join`](Self::join); `None` if no work of `key` runs while that of `most` other keys does.
    pub fn join_within<F>(&self, most: usize, key: K, start: impl FnOnce() -> (F, S)) -> Option<Work<T, S>>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let mut entries = lock(&self.entries);
        match entries.get(&key).and_then(Flight::join) {
            Some(work) => Some(work),
            None if entries.len() >= most => None,
            None => {
                let (work, state) = start();
                Some(self.start(&mut entries, key, work, state))
            }
        }
    }

    fn start<F>(&self, entries: &mut HashMap<K, Flight<T, S>>, key: K, work: F, state: S) -> Work<T, S>
    where
        F: Future<Output = T> + Send + 'static,
    {
        let identity = Arc::new(());
        let end = FlightEnd { entries: self.entries.clone(), key: key.clone(), identity: identity.clone() };
        let outcome = async move {
            let _end = end;
            work.await
        };
        let outcome = outcome.boxed().shared();
        if let Some(weak) = outcome.downgrade() {
            entries.insert(key, Flight { outcome: weak, state: state.clone(), identity });
        }
        Work { outcome, state, joined: false }
    }
}

impl<T, S: Clone> Flight<T, S> {
    /// `None` if the work was dropped a moment ago.
    fn join(&self) -> Option<Work<T, S>> {
        Some(Work { outcome: self.outcome.upgrade()?, state: self.state.clone(), joined: true })
    }
}

/// Removes the entry of work that ends, however it ends.
struct FlightEnd<K: Eq + Hash, T, S> {
    entries: Arc<Flights<K, T, S>>,
    key: K,
    identity: Arc<()>,
}

impl<K: Eq + Hash, T, S> Drop for FlightEnd<K, T, S> {
    fn drop(&mut self) {
        let mut entries = lock(&self.entries);
        if entries.get(&self.key).is_some_and(|entry| Arc::ptr_eq(&entry.identity, &self.identity)) {
            entries.remove(&self.key);
        }
    }
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn concurrent_callers_share_the_work_and_results_are_not_reused() {
        let flights = SingleFlight::<_, _, &str>::default();
        let (send, receive) = oneshot::channel();
        let first = flights.join(1, || (async { receive.await.unwrap() }, "state"));
        let second = flights.join(1, || (pending().boxed(), "other"));
        assert_eq!((first.joined, second.joined, second.state), (false, true, "state"));
        send.send(7).unwrap();
        assert_eq!((first.outcome.await, second.outcome.clone().await), (7, 7));
        let third = flights.join(1, || (async { 8 }, "new"));
        assert_eq!((third.joined, third.outcome.await, second.outcome.await), (false, 8, 7));
    }

    #[tokio::test]
    async fn an_entry_is_removed_when_its_work_is_dropped_or_panics() {
        let flights = SingleFlight::<_, u8>::default();
        drop(flights.join(1, || (pending(), ())));
        assert!(lock(&flights.entries).is_empty());
        let failing = flights.join(1, || (async { panic!("it fails") }, ()));
        assert!(tokio::spawn(failing.outcome).await.is_err());
        assert!(lock(&flights.entries).is_empty());
    }

    #[tokio::test]
    async fn work_on_a_task_goes_on_without_callers() {
        let flights = SingleFlight::<_, u8>::default();
        let (send, receive) = oneshot::channel();
        let task = tokio::spawn(flights.join(1, || (async { receive.await.unwrap() }, ())).outcome);
        assert!(flights.join(1, || (pending(), ())).joined);
        send.send(7).unwrap();
        assert_eq!(task.await.unwrap(), 7);
    }

    #[tokio::test]
    async fn a_limit_refuses_other_keys_and_not_the_one_that_runs() {
        let flights = SingleFlight::<_, u8>::default();
        let running = flights.join_within(1, 1, || (pending(), ())).unwrap();
        assert!(flights.join_within(1, 2, || (pending(), ())).is_none());
        assert!(flights.join_within(1, 1, || (pending(), ())).unwrap().joined);
        drop(running);
        assert!(!flights.join_within(1, 2, || (pending(), ())).unwrap().joined);
    }
}
