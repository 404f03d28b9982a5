//! Why there is no answer.

use assay_chain::NameError;
use assay_domain::ChainId;
use assay_registry::{Refusal, RoleError, ScoreError};

/// No score or report can be given.
#[derive(Debug, thiserror::Error)]
pub enum ScoringError {
    /// Nothing is known of this address on any chain, or the name belongs to nobody.
    #[error("Address not found or has no on-chain activity")]
    NotFound,
    /// No chain could be read, so nothing can be said of the address.
    #[error("No chain could be read; try again later")]
    ChainsDown,
    /// The one chain that the question is about could not be read.
    #[error("Chain {0} could not be read; try again later")]
    ChainDown(ChainId),
    /// What the question is about was not read in time.
    #[error("The answer took too long; try again, what was read so far is kept")]
    NotYetRead,
    /// Of several subjects none is an address, nor a name of one.
    #[error("No valid addresses provided")]
    NoneValid,
    /// Whom a name stands for cannot be told.
    #[error(transparent)]
    Name(NameError),
    /// The version that was asked for does not answer.
    #[error(transparent)]
    Version(#[from] RoleError),
    #[error(transparent)]
    Model(ScoreError),
}

impl From<NameError> for ScoringError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::NotResolved => Self::NotFound,
            error => Self::Name(error),
        }
    }
}

impl From<ScoreError> for ScoringError {
    fn from(error: ScoreError) -> Self {
        match error {
            ScoreError::Refused(Refusal::NoActivity) => Self::NotFound,
            error => Self::Model(error),
        }
    }
}
