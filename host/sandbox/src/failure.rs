//! The errors that a scenario answers with.

use std::time::Duration;

use assay_access::AccessError;
use assay_registry::{Refusal, ScoreError};
use assay_score::ScoringError;

/// An error instead of an answer, with the text of production.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The model refuses the wallet.
    NotScored,
    /// Seconds until the next request may succeed.
    Limited(u32),
    UnitsUsedUp,
    Model(ModelFault),
    ChainsDown,
    Busy,
    TooSlow,
}

/// A fault of a model; the text is its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelFault {
    Trap,
    Deadline,
    MemoryLimit,
    StackOverflow,
    OutOfRange,
    UnreadableAnswer,
}

impl Failure {
    pub(crate) fn error(self) -> ScoringError {
        match self {
            Self::NotScored => ScoreError::Refused(Refusal::NoActivity).into(),
            Self::Limited(seconds) => ScoringError::Limited(seconds),
            Self::UnitsUsedUp => {
                ScoringError::Units(AccessError::UnitsExhausted { cost: 1, used: 1_000, limit: 1_000 })
            }
            Self::Model(fault) => fault.error().into(),
            Self::ChainsDown => ScoringError::ChainsDown,
            Self::Busy => ScoreError::Busy { instances: 0 }.into(),
            Self::TooSlow => ScoringError::NotYetRead,
        }
    }
}

impl ModelFault {
    /// Only its code is in the answer.
    fn error(self) -> ScoreError {
        match self {
            Self::Trap => ScoreError::Trap { kind: "a scenario of the sandbox".to_owned(), at: None },
            Self::Deadline => ScoreError::Deadline(Duration::ZERO),
            Self::MemoryLimit => ScoreError::MemoryLimit { asked: 0, cap: 0 },
            Self::StackOverflow => ScoreError::StackOverflow(0),
            Self::OutOfRange => ScoreError::OutOfRange("a scenario of the sandbox".to_owned()),
            Self::UnreadableAnswer => ScoreError::Unreadable("a scenario of the sandbox".to_owned()),
        }
    }
}
