//! The audit log: who moved which model, written before it moves, and what became of it. Neither record is ever written
//! over.

use serde::{Deserialize, Serialize};

use assay_domain::ModelPin;
use assay_domain::{ModelKind, Time};

/// A step that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    pub at: Time,
    /// Name of the API key, or `assay` for what the server did by itself.
    pub by: String,
    /// `stage`, `challenge`, `promote`, `rollback`, `remove`, `bench`, or `appoint` for a champion that nobody chose.
    pub action: String,
    pub kind: ModelKind,
    /// Who was in the role.
    #[serde(default)]
    pub from: Vec<ModelPin>,
    /// Who is to be in it.
    #[serde(default)]
    pub to: Vec<ModelPin>,
    #[serde(default)]
    pub why: Option<String>,
    /// The bounds of promotion were not to be looked at.
    #[serde(default)]
    pub forced: bool,
}

/// What became of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEnd {
    pub at: Time,
    /// `done`, `refused` or `not_done`.
    pub outcome: String,
    #[serde(default)]
    pub detail: Option<String>,
}
