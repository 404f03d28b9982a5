//! Attestations about the owner of an address.

use std::{collections::BTreeSet, sync::Arc};

use super::{Scoring, ScoringError};
use assay_domain::{Freshness, Snapshot, Subject};

/// Attestations of one address.
#[derive(Debug, Clone)]
pub struct IdentityReport {
    pub snapshot: Arc<Snapshot>,
    /// The distinct attestations.
    pub distinct: BTreeSet<String>,
    /// Whether the snapshot is from an earlier read.
    pub cached: bool,
    pub fresh: Freshness,
}

impl Scoring {
    /// The attestations about the owner of `subject`, from the same snapshot as its report.
    ///
    /// # Errors
    /// As [`Scoring::report`].
    pub async fn identity(&self, subject: &Subject) -> Result<IdentityReport, ScoringError> {
        let read = self.read(self.address(subject).await?).await?;
        let (distinct, fresh) = (distinct(&read.snapshot), self.freshness(&read.snapshot));
        Ok(IdentityReport { snapshot: read.snapshot, distinct, cached: read.cached, fresh })
    }
}

/// The attestations of a snapshot, each once.
pub(super) fn distinct(snapshot: &Snapshot) -> BTreeSet<String> {
    snapshot.distinct_attestations().into_keys().collect()
}
