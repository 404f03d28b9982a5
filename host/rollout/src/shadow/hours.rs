//! The measurements of this process, in one record per hour. Changed hours are written to the store every few seconds.

use std::{collections::BTreeMap, time::Duration};

use chrono::Utc;
use uuid::Uuid;

use super::Shadow;
use crate::{
    Rollout,
    records::{self, PairRecord, ShadowRecord},
};
use assay_domain::{Digest, ModelPin};
use assay_store::{Batch, Store, StoreError};
use assay_tasks::Spawner;

/// Time between two writes: a crash loses at most this much.
const FLUSH: Duration = Duration::from_secs(5);
/// Hours that wait while the store cannot be written; older ones are dropped.
const WAITING: usize = 48;
const HOUR: i64 = 3_600;

/// The pairs of one hour, by champion and challenger.
type Pairs = BTreeMap<(Digest, Digest), PairRecord>;

/// Hours since the epoch that are still open or not yet stored.
pub(super) struct Hours {
    hours: BTreeMap<i64, Pairs>,
    /// Number of changes so far, and how many of them are stored.
    changes: u64,
    stored: u64,
    /// Names this process's records. Another process, also after a restart, writes separate records.
    process: String,
}

pub(super) fn current_hour() -> i64 {
    Utc::now().timestamp().div_euclid(HOUR)
}

impl Hours {
    pub(super) fn new() -> Self {
        Self { hours: BTreeMap::new(), changes: 0, stored: 0, process: Uuid::new_v4().simple().to_string() }
    }

    /// The record of two models in the current hour, to be changed.
    pub(super) fn pair(&mut self, champion: &ModelPin, challenger: &ModelPin) -> &mut PairRecord {
        self.changes += 1;
        let pairs = self.hours.entry(current_hour()).or_default();
        let new = || PairRecord::new(champion.clone(), challenger.clone());
        pairs.entry((champion.digest, challenger.digest)).or_insert_with(new)
    }
}

impl Shadow {
    /// Writes the changed hours to the store; they expire after `lifetime`.
    pub(crate) async fn flush(&self, store: &Store, lifetime: Duration) -> Result<(), StoreError> {
        let (hours, changes, process, now) = {
            let mut hours = self.hours();
            for pair in self.counters.take().into_values() {
                hours.pair(&pair.champion, &pair.challenger).counts.add(&pair.counts);
            }
            if hours.changes == hours.stored {
                return Ok(());
            }
            (hours.hours.clone(), hours.changes, hours.process.clone(), current_hour())
        };
        let write = async {
            let mut batch = Batch::new();
            for (hour, pairs) in &hours {
                let record = ShadowRecord { pairs: pairs.values().cloned().collect() };
                batch = batch.put_expiring(&records::shadow(*hour, &process), &record, lifetime)?;
            }
            store.commit(batch).await
        };
        let stored = write.await;
        let mut hours = self.hours();
        if stored.is_ok() {
            hours.stored = hours.stored.max(changes);
            // A past hour does not change any more.
            hours.hours.retain(|hour, _| *hour >= now);
        }
        while hours.hours.len() > WAITING {
            hours.hours.pop_first();
        }
        stored.map(drop)
    }
}

impl Rollout {
    /// Stores what the shadow measures until the server stops, and then once more.
    pub(crate) fn record_shadow(&self, tasks: &Spawner) {
        tasks.keep("shadow", self.clone(), |rollout, stopping| async move {
            loop {
                let ending = tokio::select! {
                    () = tokio::time::sleep(FLUSH) => false,
                    () = stopping.cancelled() => true,
                };
                if let Err(error) = rollout.flush_shadow().await {
                    tracing::error!(%error, "measurements of the shadow cannot be stored");
                }
                if let Err(error) = rollout.flush_observed().await {
                    tracing::error!(%error, "scores that wait for their outcome cannot be stored");
                }
                if ending {
                    return;
                }
            }
        });
    }

    pub(super) async fn flush_shadow(&self) -> Result<(), StoreError> {
        self.inner.shadow.flush(&self.inner.store, self.inner.shadow_lifetime).await
    }
}
