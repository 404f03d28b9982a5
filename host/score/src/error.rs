//! Why there is no score or report.

use std::fmt;

use axum::http::StatusCode;

use assay_access::AccessError;
use assay_chain::NameError;
use assay_domain::ChainId;
use assay_http::{ApiError, refused_for};
use assay_registry::{Refusal, RoleError, ScoreError};
use assay_rollout::{refused_score, refused_version};

use crate::history::HistoryError;

/// `Retry-After` while a first read continues, in seconds.
const MOMENT: u64 = 1;
/// `Retry-After` when a chain does not answer, in seconds.
const WHILE: u64 = 10;

/// Why there is no score or report.
#[derive(Debug, thiserror::Error)]
pub enum ScoringError {
    /// The address has no activity on any chain, or the name does not resolve.
    #[error("Address not found or has no on-chain activity")]
    NotFound,
    /// No chain is configured.
    #[error("No chain is configured on this server; its operator can add one, or start it with --sandbox")]
    NoChain,
    /// A sandbox reads no chains, so it does not do this.
    #[error("A sandbox {0}: its answers are mock data. Use a server that reads chains")]
    Sandbox(&'static str),
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
    #[error("The answer took too long; try again. Data read so far is kept")]
    NotYetRead,
    /// The caller has made too many requests and may try again after this many seconds. Only a scenario of the sandbox
    /// returns it; real rates are checked before a subject is known.
    #[error("Too many requests; try again in {0} s")]
    Limited(u32),
    /// The caller has too few units. Only a scenario of the sandbox returns it; real units are reserved before a
    /// subject is known.
    #[error(transparent)]
    Units(AccessError),
    /// None of several subjects is an address or a name that resolves.
    #[error("No valid addresses provided")]
    NoneValid,
    /// The name could not be resolved.
    #[error(transparent)]
    Name(NameError),
    /// A header names a version, and the key may not choose one.
    #[error(
        "This API key may not choose a version with the header Assay-Model-Version; leave it out, or name the version \
         in `model_version`"
    )]
    NoChoice,
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
            Refusal::NoActivity => f.write_str("it has no on-chain activity of a kind that the model scores"),
            Refusal::Missing(what) => write!(f, "it needs {what}"),
        }
    }
}

impl From<ScoringError> for ApiError {
    fn from(error: ScoringError) -> Self {
        match error {
            ScoringError::NotFound => Self::new(StatusCode::NOT_FOUND, error.to_string()),
            ScoringError::NoneValid => Self::no_valid_address(),
            ScoringError::Limited(seconds) => refused_for(seconds),
            ScoringError::Units(error) => error.into(),
            ScoringError::NotYetRead => Self::too_slow().retry_after(MOMENT),
            ScoringError::NoChain => Self::coded(StatusCode::BAD_GATEWAY, "no_chain", error.to_string()),
            ScoringError::Sandbox(_) => Self::coded(StatusCode::CONFLICT, "sandbox", error.to_string()),
            ScoringError::ChainsDown | ScoringError::ChainsMissing(_) | ScoringError::ChainDown(_) => {
                Self::new(StatusCode::BAD_GATEWAY, error.to_string()).retry_after(WHILE)
            }
            ScoringError::Name(NameError::NotConfigured) => {
                Self::coded(StatusCode::BAD_GATEWAY, "names_not_configured", error.to_string())
            }
            ScoringError::Name(_) => {
                Self::coded(StatusCode::BAD_GATEWAY, "name_unreadable", error.to_string()).retry_after(WHILE)
            }
            ScoringError::NoChoice => Self::coded(StatusCode::FORBIDDEN, "no_choice", error.to_string()),
            ScoringError::Version(error) => refused_version(&error),
            ScoringError::Model(ScoreError::Refused(why)) => {
                Self::coded(StatusCode::NOT_FOUND, NotScored::CODE, NotScored(why).to_string())
            }
            ScoringError::Model(error) => refused_score(&error),
        }
    }
}

impl From<HistoryError> for ApiError {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Store(error) => Self::store(error),
            HistoryError::Busy(_) => {
                Self::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", error.to_string()).retry_after(WHILE)
            }
        }
    }
}
