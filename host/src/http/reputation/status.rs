//! How a submission stands.

use axum::{Json, extract::State, response::Response};

use super::service;
use crate::http::{
    ApiError, App,
    docs::responses,
    extract::{AgentPath, Caller, SubmissionPath, charge},
    fresh,
    wire::SubmissionBody,
};
use crate::store::records::SubmissionRecord;

/// How a submission stands; free.
///
/// Poll every 5 to 10 seconds until it is `confirmed` or `failed`.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}/reputation/status/{submission_id}", tag = "reputation", operation_id = "agent_reputation_status",
    params(
        ("agent_id" = u64, Path, description = "Token id in the Identity Registry, 1 or more", example = 1),
        ("submission_id" = String, Path, description = "From the answer to the submission", example = "550e8400-e29b-41d4-a716-446655440000"),
    ),
    responses((status = 200, description = "How it stands", body = SubmissionBody), responses::OfSubmission, responses::Validated, responses::Keyed),
    security(("key" = [])),
)]
pub async fn agents_status(
    _: Caller<charge::Agents>,
    State(app): State<App>,
    AgentPath(agent_id): AgentPath,
    id: SubmissionPath,
) -> Result<Response, ApiError> {
    answer(&app, agent_id, id).await
}

/// How a submission stands, by the other path; free.
#[utoipa::path(
    get, path = "/api/v2/reputation/{agent_id}/status/{submission_id}", tag = "reputation", operation_id = "reputation_status",
    params(
        ("agent_id" = u64, Path, description = "Token id in the Identity Registry, 1 or more", example = 1),
        ("submission_id" = String, Path, description = "From the answer to the submission", example = "550e8400-e29b-41d4-a716-446655440000"),
    ),
    responses((status = 200, description = "How it stands", body = SubmissionBody), responses::OfSubmission, responses::Validated, responses::Keyed),
    security(("key" = [])),
)]
pub async fn status(
    _: Caller<charge::Agents>,
    State(app): State<App>,
    AgentPath(agent_id): AgentPath,
    id: SubmissionPath,
) -> Result<Response, ApiError> {
    answer(&app, agent_id, id).await
}

async fn answer(app: &App, agent_id: u64, id: SubmissionPath) -> Result<Response, ApiError> {
    Ok(fresh::once(Json(SubmissionBody::of(&find(app, agent_id, id).await?))))
}

pub(super) async fn find(app: &App, agent_id: u64, SubmissionPath(id): SubmissionPath) -> Result<SubmissionRecord, ApiError> {
    let reputation = service(app)?;
    let id = id.ok_or_else(ApiError::no_submission)?;
    let found = reputation.find(agent_id, id).await.map_err(ApiError::store)?;
    found.ok_or_else(ApiError::no_submission)
}
