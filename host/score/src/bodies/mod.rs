//! The bodies of responses about scores.

mod compare;
mod history;
mod provenance;
mod score;
mod statement;

pub use compare::ComparisonBody;
pub use history::{HistoryBody, PointBody};
pub use provenance::{AuditedBody, ProvenanceBody, WeighedFactorBody};
pub use score::{ClaimedRateBody, FactorBody, MeanBody, ScoreBody, ScoresBody, SkippedBody};
pub use statement::{BlockBody, EvidenceBody, SignersBody, StatementBody};
