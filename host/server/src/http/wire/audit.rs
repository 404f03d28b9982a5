//! The audit log.

use assay_domain::ModelPin;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Moment, ReferenceBody};
use crate::rollout::AuditEntry;
use assay_domain::{ModelKind, ModelRef};

/// A page of the log, latest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(title = "Audit")]
pub struct AuditBody {
    pub entries: Vec<AuditEntryBody>,
    pub total: usize,
    pub page: u64,
    pub limit: u64,
}

/// One step of a model, written before it was made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(title = "AuditEntry")]
pub struct AuditEntryBody {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// Name of the API key, or `assay` for what the server did by itself.
    by: String,
    /// `stage`, `challenge`, `promote`, `rollback`, `remove`, `bench` (taken out of service), or `appoint` (a first
    /// champion).
    action: String,
    #[schema(value_type = String)]
    kind: ModelKind,
    /// Who was in the role.
    from: Vec<ReferenceBody>,
    /// Who was to be in it.
    to: Vec<ReferenceBody>,
    why: Option<String>,
    /// The bounds of promotion were not to be looked at.
    forced: bool,
    /// `done`, `refused`, `not_done`; null while it is being made.
    outcome: Option<String>,
    /// What was found at its end.
    detail: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Moment>,
}

impl From<AuditEntry> for AuditEntryBody {
    fn from(AuditEntry { id, step, end }: AuditEntry) -> Self {
        let kind = step.kind;
        let models = |pins: Vec<ModelPin>| {
            let model = |ModelPin { version, digest }| ReferenceBody::from(ModelRef { kind, version, digest });
            pins.into_iter().map(model).collect()
        };
        let ended_at = end.as_ref().map(|end| Moment(end.at));
        let (outcome, detail) = end.map_or((None, None), |end| (Some(end.outcome), end.detail));
        Self {
            id,
            at: Moment(step.at),
            by: step.by,
            action: step.action,
            kind,
            from: models(step.from),
            to: models(step.to),
            why: step.why,
            forced: step.forced,
            outcome,
            detail,
            ended_at,
        }
    }
}
