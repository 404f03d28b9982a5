//! Why there is no score or report.

use std::fmt;

use assay_chain::NameError;
use assay_domain::ChainId;
use assay_registry::{Refusal, RoleError, ScoreError};

/// Why there is no score or report.
#[derive(Debug, thiserror::Error)]
pub enum ScoringError {
    /// The address has no activity on any chain, or the name does not resolve.
    #[error("Address not found or has no on-chain activity")]
    NotFound,
    /// No chain could be read.
    #[error("No chain could be read; try again later")]
    ChainsDown,
    /// These chains could not be read, and the others show no activity.
    #[error("Chain {} could not be read, and the others show no activity; try again later", list(.0))]
    ChainsMissing(Vec<ChainId>),
    /// The requested chain could not be read.
    #[error("Chain {0} could not be read; try again later")]
    ChainDown(ChainId),
    /// The requested data was not read in time.
    #[error("The answer took too long; try again, what was read so far is kept")]
    NotYetRead,
    /// The caller has made too many requests and may try again after this many seconds. Only a scenario of the sandbox
    /// returns it; real rates are checked before a subject is known.
    #[error("Too many requests; try again in {0} s")]
    Limited(u32),
    /// None of several subjects is an address or a name that resolves.
    #[error("No valid addresses provided")]
    NoneValid,
    /// The name could not be resolved.
    #[error(transparent)]
    Name(NameError),
    /// The requested version is not in service.
    #[error(transparent)]
    Version(#[from] RoleError),
    /// The model failed, or refuses an address that has activity.
    #[error(transparent)]
    Model(#[from] ScoreError),
}

fn list(chains: &[ChainId]) -> String {
    chains.iter().map(ChainId::to_string).collect::<Vec<_>>().join(", ")
}

impl From<NameError> for ScoringError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::NotResolved => Self::NotFound,
            error => Self::Name(error),
        }
    }
}

/// An address with activity that the model refuses, in words for the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotScored(pub Refusal);

impl NotScored {
    /// Stable: programs may rely on it.
    pub const CODE: &str = "not_scored";

    /// The refusal that `error` is.
    pub fn of(error: &ScoringError) -> Option<Self> {
        match error {
            ScoringError::Model(ScoreError::Refused(why)) => Some(Self(why.clone())),
            _ => None,
        }
    }
}

impl fmt::Display for NotScored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("The model does not score this address: ")?;
        match &self.0 {
            Refusal::NoActivity => f.write_str("none of its on-chain activity is of a kind that the model judges"),
            Refusal::Missing(what) => write!(f, "it needs {what}"),
        }
    }
}
