//! Lets concurrent callers share a request: while one request about a key is in progress, further callers wait, and the
//! next request asks for all of them. A single caller does not wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// A waiting caller.
pub(super) struct Callback<T, R> {
    pub item: T,
    /// Receives the answer.
    pub tell: Box<dyn FnOnce(R) + Send>,
}

/// The waiting callers by key. A key has an entry while one of its requests runs.
type WaitingCommands<T, R> = HashMap<String, Vec<Callback<T, R>>>;

pub(super) struct CommandGather<T, R>(Arc<Mutex<WaitingCommands<T, R>>>);

impl<T, R> Default for CommandGather<T, R> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Send + 'static, R: Send + 'static> CommandGather<T, R> {
    /// Returns the answer for `item`; `None` if `ask` panicked. See [`tell`](Self::tell).
    pub(crate) async fn ask<F, A>(&self, key: String, item: T, ask: F) -> Option<R>
    where
        F: Fn(Vec<T>) -> A + Send + 'static,
        A: Future<Output = Vec<R>> + Send + 'static,
    {
        let (sender, answer) = oneshot::channel();
        // A caller that is gone gets no result.
        self.tell(key, Callback { item, tell: Box::new(move |answer| drop(sender.send(answer))) }, ask);
        answer.await.ok()
    }

    /// Delivers the answer to `caller`. `ask` gets the items of all waiting callers of `key`, and returns their answers
    /// in the same order. It completes even if every caller is gone; if it panics, no caller gets an answer.
    pub(crate) fn tell<F, A>(&self, key: String, caller: Callback<T, R>, ask: F)
    where
        F: Fn(Vec<T>) -> A + Send + 'static,
        A: Future<Output = Vec<R>> + Send + 'static,
    {
        {
            let mut waiting = locked(&self.0);
            if let Some(others) = waiting.get_mut(&key) {
                return others.push(caller);
            }
            waiting.insert(key.clone(), vec![caller]);
        }
        let turn = GatherTurn { waiting: self.0.clone(), key, is_over: false };
        assay_tasks::spawn("store requests", turn.run(ask));
    }
}

/// Sends the requests of one key. When it ends, even by a panic, the next caller of the key starts a new one.
struct GatherTurn<T, R> {
    waiting: Arc<Mutex<WaitingCommands<T, R>>>,
    key: String,
    /// Whether the key's entry was removed. An entry that exists now belongs to a later turn.
    is_over: bool,
}

impl<T, R> GatherTurn<T, R> {
    async fn run<A: Future<Output = Vec<R>>>(mut self, ask: impl Fn(Vec<T>) -> A) {
        while let Some(next) = self.next() {
            let (items, callers): (Vec<_>, Vec<_>) = next.into_iter().map(|caller| (caller.item, caller.tell)).unzip();
            for (tell, answer) in callers.into_iter().zip(ask(items).await) {
                tell(answer);
            }
        }
    }

    /// The waiting callers; without any, removes the key's entry and returns `None`.
    fn next(&mut self) -> Option<Vec<Callback<T, R>>> {
        let mut waiting = locked(&self.waiting);
        let next = std::mem::take(waiting.get_mut(&self.key)?);
        self.is_over = next.is_empty();
        if self.is_over {
            waiting.remove(&self.key);
        }
        Some(next).filter(|next| !next.is_empty())
    }
}

impl<T, R> Drop for GatherTurn<T, R> {
    fn drop(&mut self) {
        if !self.is_over {
            locked(&self.waiting).remove(&self.key);
        }
    }
}

fn locked<T, R>(waiting: &Mutex<WaitingCommands<T, R>>) -> MutexGuard<'_, WaitingCommands<T, R>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn callers_who_come_during_a_request_share_the_next_one() {
        let (gather, asked, gate) =
            (CommandGather::default(), Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let ask = |item: u32| {
            let (asked, gate) = (asked.clone(), gate.clone());
            gather.ask("key".to_owned(), item, move |items: Vec<u32>| {
                let (asked, gate) = (asked.clone(), gate.clone());
                async move {
                    asked.fetch_add(1, Ordering::Relaxed);
                    drop(gate.acquire().await);
                    items.into_iter().map(|item| item * 2).collect()
                }
            })
        };
        let all = join_all((0..50).map(ask));
        let open = async {
            while asked.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
            gate.close();
        };
        let (answers, ()) = tokio::join!(all, open);
        assert_eq!(answers, (0..50).map(|item| Some(item * 2)).collect::<Vec<_>>());
        assert!(asked.load(Ordering::Relaxed) <= 2, "{asked:?} requests");
        assert_eq!(ask(7).await, Some(14), "a caller alone");
    }

    #[tokio::test]
    async fn a_panic_ends_only_its_own_request() {
        let gather = CommandGather::<u32, u32>::default();
        let panics = |_| async { panic!("on purpose") };
        assert_eq!(gather.ask("key".to_owned(), 1, panics).await, None);
        let works = |items| async { items };
        assert_eq!(gather.ask("key".to_owned(), 2, works).await, Some(2));
    }
}
