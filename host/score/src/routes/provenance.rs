//! `/api/v2/score/{id}`: the provenance of a served score, for the key that received it, and for auditors.

use super::ScoreRoutes;
use crate::{
    bodies::{AuditedBody, EvidenceBody, ProvenanceBody},
    responses,
};
use assay_domain::{ModelKind, Reasons, Standing};
use assay_http::{
    ApiError,
    extract::{Caller, IncludeReasons, in_path, param},
    parameters,
};
use assay_registry::{CreditModel, OfKind as _};
use assay_rollout::{ScoreId, records::ServedRecord, refused_score, refused_version};
use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{StatusCode, request::Parts},
};

use assay_store::StoreError;

/// `{id}` of a served score.
pub(crate) struct ScorePath(pub ScoreId);

parameters!(ScorePath: in_path::<String>(
    "id",
    "The header `Assay-Score-Id` of the score",
    "0b6d7c1e6f0e4a6c9a3e2d1c0b9a8f7e-1122334455667788",
));

impl<S: Send + Sync> FromRequestParts<S> for ScorePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let id = param(parts, state, "id", |text| text.parse().ok()).await.flatten();
        id.map(Self).ok_or_else(no_score)
    }
}

/// No score is stored under this id, or it belongs to another key.
fn no_score() -> ApiError {
    ApiError::coded(StatusCode::NOT_FOUND, "unknown_score", "This key has no score with this id")
}

/// Where a served score came from: the exact input of the model, and the digest of the model's bytes.
///
/// The id is in the response header `Assay-Score-Id`. Only the key that received it can use it, for
/// `scoring.provenance_days` days. From this response and the model's bytes `assay replay` computes the same score
/// again.
#[utoipa::path(
    get, path = "/api/v2/score/{id}", tag = "scores", operation_id = "get_provenance",
    params(ScorePath),
    responses(
        (status = 200, description = "The provenance of the score", body = ProvenanceBody),
        responses::NoScore, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn mine(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    ScorePath(id): ScorePath,
) -> Result<Json<ProvenanceBody>, ApiError> {
    let found = known(scores.rollout.provenance(&id, caller.owner()).await)?;
    Ok(Json(ProvenanceBody::new(&id, found)))
}

/// The evidence of a statement of this score: its features and blocks, and the source of each part of the features.
///
/// `assay verify` compares it with a statement, runs the model on the features, and reads the chains again.
#[utoipa::path(
    get, path = "/api/v2/score/{id}/evidence", tag = "scores", operation_id = "get_evidence",
    params(ScorePath, IncludeReasons),
    responses(
        (status = 200, description = "The evidence", body = EvidenceBody),
        responses::NoScore, responses::Validated, responses::Keyed, responses::VersionRefused, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn evidence(
    caller: Caller,
    State(scores): State<ScoreRoutes>,
    ScorePath(id): ScorePath,
    IncludeReasons(reasons): IncludeReasons,
) -> Result<Json<EvidenceBody>, ApiError> {
    let found = known(scores.rollout.provenance(&id, caller.owner()).await)?;
    let reasons = if reasons { recomputed(&scores, &found).await? } else { None };
    EvidenceBody::new(&id, found, reasons).map(Json).map_err(|error| ApiError::internal("serialize", error))
}

/// The reasons of a served score: its model is asked again, because records have no card.
async fn recomputed(scores: &ScoreRoutes, record: &ServedRecord) -> Result<Option<Reasons>, ApiError> {
    let registry = scores.rollout.registry();
    let loaded = registry.loaded(ModelKind::Credit, &record.model.version).map_err(|why| refused_version(&why))?;
    let model = CreditModel::of(&loaded).filter(|model| model.digest() == record.model.digest).ok_or_else(|| {
        let words = format!("The model {} has other bytes now than when the score was computed", record.model.version);
        ApiError::coded(StatusCode::CONFLICT, "model_replaced", words)
    })?;
    let explained = model.explained_uncounted(&record.features).map_err(|error| refused_score(&error))?;
    let standing = Standing::of(&record.features);
    Ok(scores.cards.reasons_of(registry, model.reference(), &explained.factors, &standing).await)
}

/// The same for an auditor, with the record that `assay replay` reads.
#[utoipa::path(
    get, path = "/api/v2/admin/scores/{id}", tag = "admin", operation_id = "get_audited_provenance",
    params(ScorePath),
    responses(
        (status = 200, description = "The provenance of the score", body = AuditedBody),
        responses::NoScore, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn audited(
    State(scores): State<ScoreRoutes>,
    ScorePath(id): ScorePath,
) -> Result<Json<AuditedBody>, ApiError> {
    Ok(Json(AuditedBody::new(&id, known(scores.rollout.audited(&id).await)?)))
}

fn known(found: Result<Option<ServedRecord>, StoreError>) -> Result<ServedRecord, ApiError> {
    found.map_err(ApiError::store)?.ok_or_else(no_score)
}
