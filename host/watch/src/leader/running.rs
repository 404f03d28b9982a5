//! Work that goes on by itself while the leader does something else, and ends with the leader.
//!
//! Sweeps and deliveries share single-flight lookups, permits and the turns of endpoints with each other, with the
//! leader and with requests. Each is a task of its own: a future that only the leader polls would keep what it holds
//! for as long as the leader waits, and if the leader waits for the same thing, for ever.

use futures::{StreamExt, stream::FuturesUnordered};
use tokio_util::task::AbortOnDropHandle;

use assay_store::StoreError;

pub(super) struct Running<T> {
    name: &'static str,
    tasks: FuturesUnordered<AbortOnDropHandle<Result<T, StoreError>>>,
}

impl<T: Send + 'static> Running<T> {
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, tasks: FuturesUnordered::new() }
    }

    pub(super) fn start(&self, work: impl Future<Output = Result<T, StoreError>> + Send + 'static) {
        self.tasks.push(AbortOnDropHandle::new(assay_tasks::spawn(self.name, work)));
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// What came of the next work that ended; `None` if none is in progress.
    ///
    /// # Errors
    /// The store's failure. A panic, which is logged, is one too: the leader begins again from the store.
    pub(super) async fn next(&mut self) -> Option<Result<T, StoreError>> {
        let ended = self.tasks.next().await?;
        Some(ended.unwrap_or_else(|panic| Err(StoreError::Failed { reason: format!("{}: {panic}", self.name) })))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use tokio::sync::Mutex;

    #[tokio::test]
    async fn work_goes_on_while_nobody_asks_for_it() {
        let shared = Arc::new(Mutex::new(0));
        let mut running = Running::new("work");
        let (begun, begins) = tokio::sync::oneshot::channel();
        let of_work = shared.clone();
        running.start(async move {
            let mut held = of_work.lock().await;
            let _ = begun.send(());
            tokio::task::yield_now().await;
            *held += 1;
            Ok(())
        });
        begins.await.unwrap();
        // The work holds the lock, and nobody polls `running` meanwhile.
        assert_eq!(*shared.lock().await, 1);
        assert!(running.next().await.unwrap().is_ok() && running.is_empty());
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_and_not_the_end_of_the_leader() {
        let mut running = Running::<()>::new("work");
        running.start(async { panic!("on purpose") });
        assert!(matches!(running.next().await, Some(Err(StoreError::Failed { .. }))));
    }
}
