//! The bodies of responses about scores.

mod changes;
mod compare;
mod history;
mod provenance;
mod reasons;
mod score;
mod statement;
mod what_if;

pub use changes::{ChangesBody, SafetyBody, StepBody};
pub use compare::ComparisonBody;
pub use history::{HistoryBody, PointBody};
pub use provenance::{AuditedBody, ProvenanceBody, WeighedFactorBody};
pub use reasons::{ClampBody, ReasonBody, ReasonsBody};
pub use score::{ClaimedRateBody, FactorBody, MeanBody, ScoreBody, ScoresBody, SkippedList};
pub use statement::{BlockBody, EvidenceBody, SignersBody, StatementBody};
pub use what_if::{FeaturesScoreBody, LiquidationBody, RungBody, WhatIfBody};
pub(crate) use what_if::{Rung, Supposed};
