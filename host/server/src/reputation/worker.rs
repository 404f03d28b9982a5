//! The one who does the work: one at a time for an account, by a lease of the store. Documents are prepared several at
//! once, transactions are made one after another.

use crate::reputation::records::{self, OPEN_SUBMISSIONS, Stage, SubmissionRecord};
use std::{
    collections::{BTreeMap, HashSet},
    time::Duration,
};

use chrono::Utc;
use futures::{StreamExt, stream::FuturesUnordered};

use super::{Reputation, landing::Memory};
use crate::tasks::Spawner;
use assay_store::{Lease, Lost, StoreError};

/// How long a worker that is gone holds up its successor on another host.
const LEASE: Duration = Duration::from_secs(8);
/// Wait for a lease that somebody else has, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Submissions prepared at once.
const AT_ONCE: usize = 8;

impl Reputation {
    /// Starts the worker.
    pub fn start(&self, tasks: &Spawner) {
        let (this, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("reputation", async move {
            stopping.run_until_cancelled(this.work()).await;
        });
    }

    async fn work(&self) {
        let sender = &self.inner.sender;
        let name = format!("reputation/{}/{:#x}", sender.chain(), sender.address());
        self.inner
            .store
            .lead(&name, (LEASE, RETRY), "submissions", |lease| async move { self.rounds(&lease).await })
            .await;
    }

    /// Works until something is lost.
    async fn rounds(&self, lease: &Lease) -> Lost {
        let (mut memory, mut busy, mut preparing) = (Memory::default(), HashSet::new(), FuturesUnordered::new());
        loop {
            let open = match self.open().await {
                Ok(open) => open,
                Err(error) => return error.into(),
            };
            let errands = match self.inner.errands.open().await {
                Ok(errands) => errands,
                Err(error) => return error.into(),
            };
            count(&open);
            let now = Utc::now();
            let (landing, rest): (Vec<_>, Vec<_>) =
                open.into_iter().partition(|record| record.stage == Stage::Submitting);
            for record in rest.into_iter().filter(|record| record.next_at <= now) {
                if preparing.len() < AT_ONCE && busy.insert(record.id) {
                    let id = record.id;
                    preparing.push(async move { (id, self.prepare(lease, record).await) });
                }
            }
            let nothing = landing.is_empty() && errands.is_empty();
            let idle = nothing && preparing.is_empty();
            let land = async { if nothing { Ok(()) } else { self.land(lease, &mut memory, landing, errands).await } };
            // What is prepared meanwhile is taken with the next round.
            let mut landed = std::pin::pin!(land);
            loop {
                tokio::select! {
                    done = &mut landed => {
                        if let Err(lost) = done { return lost }
                        break;
                    }
                    Some((id, done)) = preparing.next() => {
                        busy.remove(&id);
                        if let Err(lost) = done { return lost }
                    }
                }
            }
            let pause =
                if idle { self.inner.settings.poll.max(Duration::from_millis(500)) } else { self.inner.settings.poll };
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.inner.news.notified() => {}
                () = self.inner.errands.news() => {}
                Some((id, done)) = preparing.next() => {
                    busy.remove(&id);
                    if let Err(lost) = done { return lost }
                }
            }
        }
    }

    /// Every submission that has not ended, oldest first.
    async fn open(&self) -> Result<Vec<SubmissionRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_SUBMISSIONS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::submission(id)).collect();
        Ok(self
            .inner
            .store
            .get_many(&keys)
            .await?
            .into_iter()
            .flatten()
            .filter(|record| !record.stage.is_terminal())
            .collect())
    }
}

fn count(open: &[SubmissionRecord]) {
    let mut by_stage: BTreeMap<Stage, u32> =
        Stage::ALL.into_iter().filter(|stage| !stage.is_terminal()).map(|stage| (stage, 0)).collect();
    for record in open {
        *by_stage.entry(record.stage).or_default() += 1;
    }
    for (stage, count) in by_stage {
        metrics::gauge!("assay_submissions_open", "status" => stage.as_str()).set(count);
    }
    let oldest = open.iter().map(|record| (Utc::now() - record.created_at).num_seconds()).max().unwrap_or_default();
    metrics::gauge!("assay_submissions_oldest_seconds").set(oldest as f64);
}
