//! The scores of champion and challengers, kept for a later comparison with what happened: of each model the first score
//! of a wallet in a week. They are stored by hour and process, so that hosts share them and a list stays short.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use uuid::Uuid;

use super::{
    Rollout, Scored,
    records::{self, OBSERVED, ObservedRecord, ObservedScore},
    scored::Basis,
};
use assay_domain::{Address, Digest, ModelRef, Score};
use assay_store::{Batch, Store, StoreError};

const HOUR: i64 = 3_600;
/// Scores of one hour that are kept; further ones are counted and left out.
const MOST: usize = 50_000;
/// Wallets of the week that are remembered, so that each is kept once.
const KNOWN: usize = 500_000;
/// Hours that wait while the store cannot be written; older ones are dropped.
const WAITING: usize = 48;

/// Seconds of a week, the time in which a wallet counts once for a model.
pub const WEEK: u64 = 604_800;

pub(super) struct Observed {
    kept: Mutex<Kept>,
    /// Of the records. With zero nothing is kept.
    lifetime: Duration,
    process: String,
}

#[derive(Default)]
struct Kept {
    hours: BTreeMap<i64, Vec<ObservedScore>>,
    known: HashSet<(u64, Digest, Address)>,
    changed: bool,
}

impl Observed {
    pub fn new(lifetime: Duration) -> Self {
        Self { kept: Mutex::default(), lifetime, process: Uuid::new_v4().simple().to_string() }
    }

    /// Keeps the score that `model` gives to the wallet of `scored`.
    pub fn see(&self, model: &ModelRef, scored: &Scored, score: Score) {
        let Basis::Wallet(standing) = scored.basis else { return };
        if self.lifetime.is_zero() {
            return;
        }
        let as_of = u64::try_from(scored.fresh.read_at.timestamp()).unwrap_or(0);
        let mut kept = self.kept();
        if kept.known.len() >= KNOWN {
            kept.known.clear();
        }
        if !kept.known.insert((as_of / WEEK, model.digest, scored.address)) {
            return;
        }
        let hour = chrono::Utc::now().timestamp().div_euclid(HOUR);
        let scores = kept.hours.entry(hour).or_default();
        if scores.len() >= MOST {
            metrics::counter!("assay_outcome_records_dropped_total").increment(1);
            return;
        }
        scores.push(ObservedScore { model: model.into(), address: scored.address, as_of, score, standing });
        kept.changed = true;
    }

    /// Writes the changed hours to the store.
    async fn flush(&self, store: &Store) -> Result<(), StoreError> {
        let hours = {
            let mut kept = self.kept();
            if !std::mem::take(&mut kept.changed) {
                return Ok(());
            }
            kept.hours.clone()
        };
        let newest = hours.keys().next_back().copied().unwrap_or(0);
        let write = async {
            let mut batch = Batch::new();
            for (hour, scores) in hours {
                let key = records::observed(hour, &self.process);
                batch = batch.put_expiring(&key, &ObservedRecord { scores }, self.lifetime)?;
            }
            store.commit(batch).await
        };
        let stored = write.await;
        let mut kept = self.kept();
        match stored {
            // A past hour does not change any more.
            Ok(_) => kept.hours.retain(|hour, _| *hour >= newest),
            Err(_) => kept.changed = true,
        }
        while kept.hours.len() > WAITING {
            kept.hours.pop_first();
        }
        stored.map(drop)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rollout {
    pub(super) async fn flush_observed(&self) -> Result<(), StoreError> {
        self.inner.observed.flush(&self.inner.store).await
    }

    /// Every kept score of all hosts: of each model the first of a wallet in a week.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn observed(&self) -> Result<Vec<ObservedScore>, StoreError> {
        self.flush_observed().await?;
        let mut first = BTreeMap::<(Digest, u64, Address), ObservedScore>::new();
        for (_, record) in self.inner.store.list(&OBSERVED).await? {
            for found in record.scores {
                let key = (found.model.digest, found.as_of / WEEK, found.address);
                match first.get_mut(&key) {
                    Some(known) if known.as_of <= found.as_of => {}
                    Some(known) => *known = found,
                    None => drop(first.insert(key, found)),
                }
            }
        }
        Ok(first.into_values().collect())
    }
}
