//! The records of the audit log: a step, written before it is taken, and its outcome. Neither is ever overwritten.

use serde::{Deserialize, Serialize};

use assay_domain::{ModelKind, ModelPin, Time};

/// A step that is about to be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    pub at: Time,
    /// Name of the API key, or `assay` for a step of the server itself.
    pub by: String,
    /// `stage`, `challenge`, `promote`, `rollback`, `remove`, `bench` (taken out of service), or `appoint` (the first
    /// champion of a kind, which the server chose).
    pub action: String,
    pub kind: ModelKind,
    /// The models in the role before the step.
    #[serde(default)]
    pub from: Vec<ModelPin>,
    /// The models in the role after it.
    #[serde(default)]
    pub to: Vec<ModelPin>,
    #[serde(default)]
    pub why: Option<String>,
    /// The bounds of promotion were not applied.
    #[serde(default)]
    pub forced: bool,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEnd {
    pub at: Time,
    /// `done`, `refused` or `not_done`.
    pub outcome: String,
    #[serde(default)]
    pub detail: Option<String>,
}
