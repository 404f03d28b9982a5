//! Counters that requests update. Their lock is held for a few instructions, and never during a write to the store.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use crate::records::PairCounts;
use assay_domain::{Digest, ModelPin};
use assay_registry::CreditModel;

/// Counts by champion and challenger that are not in an hourly record yet.
#[derive(Default)]
pub(super) struct Counters {
    counts: Mutex<BTreeMap<(Digest, Digest), PairCount>>,
}

pub(super) struct PairCount {
    pub champion: ModelPin,
    pub challenger: ModelPin,
    pub counts: PairCounts,
}

impl Counters {
    /// Counts one score for each of `challengers`.
    pub(super) fn add(&self, champion: &CreditModel, challengers: &[CreditModel], sampled: bool, dropped: bool) {
        if challengers.is_empty() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for challenger in challengers {
            let pair = counts.entry((champion.digest(), challenger.digest())).or_insert_with(|| PairCount {
                champion: champion.reference().into(),
                challenger: challenger.reference().into(),
                counts: PairCounts::default(),
            });
            pair.counts.seen += 1;
            pair.counts.sampled += u64::from(sampled);
            pair.counts.dropped += u64::from(dropped);
        }
    }

    /// Takes everything counted since the last call.
    pub(super) fn take(&self) -> BTreeMap<(Digest, Digest), PairCount> {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
