//! The report of one subject, with its score.

use std::sync::Arc;

use super::{Ask, Scoring, ScoringError};
use crate::rollout::Scored;
use assay_domain::{ChainId, Coverage, Freshness, Snapshot, Subject};

/// A credit report from the chains.
#[derive(Debug, Clone)]
pub struct Report {
    pub scored: Arc<Scored>,
    pub snapshot: Arc<Snapshot>,
    /// Whether the snapshot is from an earlier read.
    pub cached: bool,
}

/// The report of one chain.
#[derive(Debug, Clone)]
pub struct ChainReport {
    /// Of this chain alone.
    pub snapshot: Snapshot,
    /// Whether the snapshot is from an earlier read.
    pub cached: bool,
    pub fresh: Freshness,
}

impl Scoring {
    /// The report of `subject`. An address without activity has a report of zeros and the lowest score.
    ///
    /// # Errors
    /// As [`Scoring::score`], except that an unknown address is not an error.
    pub async fn report(&self, subject: &Subject, by: &str) -> Result<Report, ScoringError> {
        let read = self.read(self.address(subject).await?).await?;
        let ask = Ask { by, version: None, factors: false };
        let (scored, _) = self.assess(&self.credit(&ask)?, &read.snapshot, &ask).await?;
        Ok(Report { scored, snapshot: read.snapshot, cached: read.cached })
    }

    /// The report of `subject` on `chain` alone, without a score: a score is over all chains.
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
