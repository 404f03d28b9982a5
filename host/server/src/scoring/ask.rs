//! A request for a score: the caller, and the version that answers.

use super::{Scoring, ScoringError};
use assay_domain::ModelVersion;
use assay_registry::CreditModel;

/// A request for a score, without its subject.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// Name of the API key.
    pub by: &'a str,
    /// The version that answers; the champion where absent.
    pub version: Option<&'a ModelVersion>,
    /// Whether the answer shows the factors. Then the model is asked for their words.
    pub factors: bool,
}

impl Scoring {
    /// The credit model that answers.
    ///
    /// # Errors
    /// [`ScoringError::Version`] for a version that is not loaded or out of service, [`ScoringError::Model`] without a
    /// champion.
    pub(super) fn credit(&self, ask: &Ask<'_>) -> Result<CreditModel, ScoringError> {
        match ask.version {
            None => Ok(self.inner.registry.champion()?),
            Some(version) => Ok(self.inner.registry.in_service(version)?),
        }
    }
}
