//! What a request counts in passing: a lock that is held for a few instructions, and never while anything is written.

use crate::rollout::records::PairCounts;
use assay_domain::ModelPin;
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use assay_domain::Digest;
use assay_registry::{CreditModel, Model};

/// Counts by champion and challenger that are not in the books yet.
#[derive(Default)]
pub(super) struct Gate {
    counts: Mutex<BTreeMap<(Digest, Digest), Passed>>,
}

pub(super) struct Passed {
    pub champion: ModelPin,
    pub challenger: ModelPin,
    pub counts: PairCounts,
}

pub(super) fn pin(model: &Model) -> ModelPin {
    crate::scoring::provenance::pin(model.reference())
}

impl Gate {
    /// One score that `challengers` could see.
    pub fn seen(&self, champion: &Model, challengers: &[CreditModel], sampled: bool, dropped: bool) {
        if challengers.is_empty() {
            return;
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        for challenger in challengers {
            let passed = counts.entry((champion.digest(), challenger.digest())).or_insert_with(|| Passed {
                champion: pin(champion),
                challenger: pin(challenger),
                counts: PairCounts::default(),
            });
            passed.counts.seen += 1;
            passed.counts.sampled += u64::from(sampled);
            passed.counts.dropped += u64::from(dropped);
        }
    }

    /// Everything counted since the last time.
    pub fn take(&self) -> BTreeMap<(Digest, Digest), Passed> {
        std::mem::take(&mut *self.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
