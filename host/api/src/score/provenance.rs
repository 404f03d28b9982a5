//! `/api/v2/score/{id}`: where a served score came from, for the key that received it; and for auditors, whichever key
//! received it.

use assay_scoring::rollout::records::ServedRecord;
use axum::{Json, extract::State};

use crate::{
    ApiError, App,
    extract::{Caller, ScorePath},
    responses,
};
use assay_store::StoreError;
use assay_wire::{AuditedBody, EvidenceBody, ProvenanceBody};

/// Where a served score came from: the exact input of the model, and the digest of the model's bytes.
///
/// The id is in the response header `Assay-Score-Id`. Only the key that received it can use it, for
/// `scoring.provenance_days` days. From this response and the model's bytes `assay replay` computes the same score
/// again.
#[utoipa::path(
    get, path = "/api/v2/score/{id}", tag = "scores", operation_id = "get_provenance",
    params(ScorePath),
    responses(
        (status = 200, description = "Where it came from", body = ProvenanceBody),
        responses::NoScore, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mine(
    caller: Caller,
    State(app): State<App>,
    ScorePath(id): ScorePath,
) -> Result<Json<ProvenanceBody>, ApiError> {
    let found = known(app.rollout.provenance(&id, caller.owner()).await)?;
    Ok(Json(ProvenanceBody::new(&id, found)))
}

/// What a statement of this score commits to: its features and blocks, and where each part of the features came from.
///
/// `assay verify` compares it with a statement, runs the model on the features, and reads the chains again.
#[utoipa::path(
    get, path = "/api/v2/score/{id}/evidence", tag = "scores", operation_id = "get_evidence",
    params(ScorePath),
    responses(
        (status = 200, description = "The evidence", body = EvidenceBody),
        responses::NoScore, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn evidence(
    caller: Caller,
    State(app): State<App>,
    ScorePath(id): ScorePath,
) -> Result<Json<EvidenceBody>, ApiError> {
    let found = known(app.rollout.provenance(&id, caller.owner()).await)?;
    EvidenceBody::new(&id, found).map(Json).map_err(|error| ApiError::internal("serialize", error))
}

/// The same for an auditor, with the record that `assay replay` reads.
#[utoipa::path(
    get, path = "/api/v2/admin/scores/{id}", tag = "admin", operation_id = "get_audited_provenance",
    params(ScorePath),
    responses(
        (status = 200, description = "Where it came from", body = AuditedBody),
        responses::NoScore, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn audited(State(app): State<App>, ScorePath(id): ScorePath) -> Result<Json<AuditedBody>, ApiError> {
    Ok(Json(AuditedBody::new(&id, known(app.rollout.audited(&id).await)?)))
}

fn known(found: Result<Option<ServedRecord>, StoreError>) -> Result<ServedRecord, ApiError> {
    found.map_err(ApiError::store)?.ok_or_else(ApiError::no_score)
}
