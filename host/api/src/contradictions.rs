//! What contradicts the configuration, found by checks in the background; `/readyz` warns of it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_domain::ChainId;

/// What contradicts the configuration. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Contradictions(Arc<Mutex<Found>>);

/// By chain, and without one what does not concern a chain.
type Found = BTreeMap<Option<ChainId>, Vec<String>>;

impl Contradictions {
    /// Records what a check of `chain` found, in the place of what the last one found. Logs what is new.
    pub fn record(&self, chain: Option<ChainId>, found: Vec<String>) {
        let before = self.all().insert(chain, found.clone()).unwrap_or_default();
        for finding in found.iter().filter(|finding| !before.contains(finding)) {
            tracing::warn!(%finding, "the configuration is contradicted");
        }
    }

    /// Each contradiction in words that say what to do.
    pub(crate) fn words(&self) -> Vec<String> {
        self.all().values().flatten().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, Found> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
