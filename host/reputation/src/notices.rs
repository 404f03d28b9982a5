//! Notices of submissions: a waiting client is notified of the next state. While clients wait, one task reads their
//! submissions: after every step of this process, and every second for the steps of other hosts.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, watch};
use uuid::Uuid;

use super::records::{self, SubmissionRecord};
use assay_store::{Store, StoreError};
use assay_tasks::Spawner;

/// Maximum time between two readings while somebody waits.
const PACE: Duration = Duration::from_secs(1);
/// Shortest time between two readings: many steps at once are one reading.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of submissions in one reading of the store.
const AT_ONCE: usize = 500;

/// The waiting clients. Cheap to clone.
#[derive(Clone)]
pub struct Notices(Arc<NoticesState>);

struct NoticesState {
    store: Store,
    /// Notified after each step of this process.
    steps: Arc<Notify>,
    /// The last state of each submission that is waited for.
    topics: Mutex<HashMap<Uuid, watch::Sender<Arc<SubmissionRecord>>>>,
    places: Arc<Semaphore>,
    /// Somebody began to wait.
    joined: Notify,
}

/// A client that waits. Its place is free again when this is dropped.
pub struct Waiting {
    states: watch::Receiver<Arc<SubmissionRecord>>,
    last: Arc<SubmissionRecord>,
    _place: WaiterPermit,
}

struct WaiterPermit(#[expect(dead_code, reason = "held until the client leaves")] OwnedSemaphorePermit);

impl Notices {
    /// `steps` is notified after each step of this process. `places` is the number of clients that may wait at once.
    pub fn new(store: Store, steps: Arc<Notify>, places: usize) -> Self {
        let (topics, joined) = (Mutex::default(), Notify::new());
        Self(Arc::new(NoticesState { store, steps, topics, places: Arc::new(Semaphore::new(places)), joined }))
    }

    /// Starts the task that reads.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("notices", self.clone(), |this, stopping| async move {
            stopping.run_until_cancelled(this.follow()).await;
        });
    }

    /// A slot for a client that knows the state `last`; `None` if all slots are taken.
    pub fn wait(&self, last: SubmissionRecord) -> Option<Waiting> {
        let place = WaiterPermit::new(self.0.places.clone().try_acquire_owned().ok()?);
        let last = Arc::new(last);
        let states = {
            let mut topics = self.topics();
            let topic = topics.entry(last.id).or_insert_with(|| watch::Sender::new(last.clone()));
            keep_newer(topic, &last);
            topic.subscribe()
        };
        self.0.joined.notify_one();
        Some(Waiting { states, last, _place: place })
    }

    async fn follow(&self) {
        loop {
            if self.waited_for().is_empty() {
                self.0.joined.notified().await;
                continue;
            }
            // A failing store is read again in the next round; waiting clients keep the last state meanwhile.
            let _ = tokio::time::timeout(PACE, self.0.steps.notified()).await;
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "submissions that are waited for cannot be read");
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Reads the submissions of waiting clients, and notifies the clients.
    async fn look(&self) -> Result<(), StoreError> {
        for ids in self.waited_for().chunks(AT_ONCE) {
            let keys: Vec<_> = ids.iter().copied().map(records::submission).collect();
            let found = self.0.store.get_many(&keys).await?;
            let topics = self.topics();
            for record in found.into_iter().flatten().map(Arc::new) {
                if let Some(topic) = topics.get(&record.id) {
                    keep_newer(topic, &record);
                }
            }
        }
        Ok(())
    }

    /// The submissions that are waited for; the others are forgotten.
    fn waited_for(&self) -> Vec<Uuid> {
        let mut topics = self.topics();
        topics.retain(|_, topic| topic.receiver_count() > 0);
        topics.keys().copied().collect()
    }

    fn topics(&self) -> MutexGuard<'_, HashMap<Uuid, watch::Sender<Arc<SubmissionRecord>>>> {
        self.0.topics.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// The state that the client knows.
    pub fn last(&self) -> &SubmissionRecord {
        &self.last
    }

    /// Completes when the client has something new to see, which is then [`Waiting::last`].
    pub async fn next(&mut self) {
        let known = seen(&self.last);
        let next = self.states.wait_for(|now| seen(now) != known).await.ok().map(|now| now.clone());
        match next {
            Some(next) => self.last = next,
            // Nobody reads any more: the server stops.
            None => std::future::pending().await,
        }
    }
}

impl WaiterPermit {
    fn new(permit: OwnedSemaphorePermit) -> Self {
        metrics::gauge!("assay_submissions_waited_for").increment(1.0);
        Self(permit)
    }
}

impl Drop for WaiterPermit {
    fn drop(&mut self) {
        metrics::gauge!("assay_submissions_waited_for").decrement(1.0);
    }
}

/// The part of `record` that a client sees and that changes.
fn seen(record: &SubmissionRecord) -> (&'static str, bool, usize, Option<String>) {
    let landed = record.feedback.iter().filter(|feedback| feedback.landed.is_some()).count();
    let obstacle = record.giving_up.clone().or_else(|| record.trouble.clone());
    (record.stage.as_str(), record.scores.is_some(), landed, obstacle)
}

fn keep_newer(topic: &watch::Sender<Arc<SubmissionRecord>>, record: &Arc<SubmissionRecord>) {
    topic.send_if_modified(|known| {
        let newer = record.updated_at > known.updated_at;
        if newer {
            *known = record.clone();
        }
        newer
    });
}

#[cfg(test)]
mod tests;
