//! Everything known of one subject, with its score.

use std::sync::Arc;

use super::{Scored, Scoring, ScoringError};
use crate::domain::{ModelKind, Snapshot, Subject};

/// A credit report before it is shaped for the wire.
#[derive(Debug, Clone)]
pub struct Report {
    pub scored: Arc<Scored>,
    pub snapshot: Arc<Snapshot>,
    /// Served from an earlier reading.
    pub cached: bool,
}

impl Scoring {
    /// The report of `subject`. An address that no chain knows has a report of zeros, with the lowest score there is.
    ///
    /// # Errors
    /// As [`Scoring::score`], except that an unknown address is not an error.
    pub async fn report(&self, subject: &Subject) -> Result<Report, ScoringError> {
        let read = self.read(subject).await?;
        let scored = self.assess(&*self.inner.registry.champion(ModelKind::Credit)?, &read.snapshot).await?;
        Ok(Report { scored, snapshot: read.snapshot, cached: read.cached })
    }
}
