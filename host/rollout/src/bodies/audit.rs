//! The audit log.

use assay_domain::{ModelKind, ModelPin, ModelRef};
use serde::Serialize;
use utoipa::ToSchema;

use super::ReferenceBody;
use crate::AuditEntry;
use assay_http::values::Moment;

/// One page of the log, newest entry first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Audit)]
pub struct AuditBody {
    pub entries: Vec<AuditEntryBody>,
    pub total: usize,
    pub page: u64,
    pub limit: u64,
}

/// One change to a model, recorded before it is made.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub struct AuditEntryBody {
    id: String,
    #[schema(value_type = String, format = DateTime)]
    at: Moment,
    /// Name of the API key, or `assay` when the server made the change itself.
    by: String,
    /// `stage`, `challenge`, `promote`, `split`, `unsplit` (the server took a version out of the split), `rollback`,
    /// `remove`, `bench` (taken out of service), or `appoint` (a first champion).
    action: String,
    #[schema(value_type = String)]
    kind: ModelKind,
    /// The models that had the role before.
    from: Vec<ReferenceBody>,
    /// The models that were to get the role.
    to: Vec<ReferenceBody>,
    why: Option<String>,
    /// Whether the bounds of promotion were to be ignored.
    forced: bool,
    /// `done`, `refused`, `not_done`; null until the change has ended.
    outcome: Option<String>,
    /// The details of the outcome.
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
