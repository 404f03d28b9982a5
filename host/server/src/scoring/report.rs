//! Everything known of one subject, with its score.

use std::sync::Arc;

use super::{Scoring, ScoringError};
use crate::rollout::Scored;
use assay_domain::{ChainId, Coverage, Freshness, Snapshot, Subject};
use assay_registry::CreditModel;

/// A credit report before it is shaped for the wire.
#[derive(Debug, Clone)]
pub struct Report {
    pub scored: Arc<Scored>,
    pub snapshot: Arc<Snapshot>,
    /// Served from an earlier reading.
    pub cached: bool,
}

/// What one chain says.
#[derive(Debug, Clone)]
pub struct ChainReport {
    /// Of this chain alone.
    pub snapshot: Snapshot,
    /// Served from an earlier reading.
    pub cached: bool,
    pub fresh: Freshness,
}

impl Scoring {
    /// The report of `subject`. An address that no chain knows has a report of zeros, with the lowest score there is.
    ///
    /// # Errors
    /// As [`Scoring::score`], except that an unknown address is not an error.
    pub async fn report(&self, subject: &Subject, by: &str) -> Result<Report, ScoringError> {
        let read = self.read(self.address(subject).await?).await?;
        let (scored, _) = self.assess(&self.inner.registry.champion::<CreditModel>()?, &read.snapshot, by).await?;
        Ok(Report { scored, snapshot: read.snapshot, cached: read.cached })
    }

    /// The report of `subject` on `chain` alone. It has no score: one chain is not the whole of an address.
    ///
    /// # Errors
    /// As [`Scoring::report`], [`ScoringError::ChainDown`] where this chain could not be read or is not configured, and
    /// [`ScoringError::NotYetRead`] where it is being read.
    pub async fn chain_report(&self, subject: &Subject, chain: ChainId) -> Result<ChainReport, ScoringError> {
        let read = self.read(self.address(subject).await?).await?;
        let part = read.snapshot.chains.iter().find(|part| part.chain_id == chain);
        let part = part.filter(|part| part.coverage != Coverage::Failed).ok_or(ScoringError::ChainDown(chain))?;
        if part.coverage == Coverage::Pending {
            return Err(ScoringError::NotYetRead);
        }
        let snapshot = Snapshot { chains: vec![part.clone()], ..Snapshot::clone(&read.snapshot) };
        Ok(ChainReport { snapshot, cached: read.cached, fresh: self.freshness(&read.snapshot) })
    }
}
