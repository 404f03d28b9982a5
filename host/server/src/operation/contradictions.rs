//! Contradictions of the configuration that checks in the background found; `/readyz` warns of them.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use assay_domain::ChainId;

/// The known contradictions of the configuration. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Contradictions(Arc<Mutex<Findings>>);

/// By chain; `None` for contradictions that do not concern a chain.
type Findings = BTreeMap<Option<ChainId>, Vec<String>>;

impl Contradictions {
    /// Replaces the findings of the last check of `chain`. Logs new findings.
    pub fn record(&self, chain: Option<ChainId>, found: Vec<String>) {
        let before = self.all().insert(chain, found.clone()).unwrap_or_default();
        for finding in found.iter().filter(|finding| !before.contains(finding)) {
            tracing::warn!(%finding, "the configuration contradicts a check");
        }
    }

    /// Each contradiction, with what to do about it.
    pub(crate) fn words(&self) -> Vec<String> {
        self.all().values().flatten().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, Findings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
