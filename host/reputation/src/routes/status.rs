//! The status of a submission.

use crate::{bodies::SubmissionBody, records::SubmissionRecord, responses};
use axum::{Json, extract::State, http::StatusCode, response::Response};

use super::{ReputationRoutes, notice, parameters::SubmissionPath, wait::Wait};
use assay_agents::AgentPath;
use assay_http::{ApiError, fresh};

/// The status of a submission; free.
///
/// Poll every 5 to 10 seconds until it is `confirmed` or `failed`, or let the server notify you: `wait` answers when
/// the state changes, at the latest after this number of seconds with the same state. With `Accept: text/event-stream`
/// the response is a stream of events named `status`, each with this body as its data: the current state, then every
/// change until the last one. A stream ends after 15 minutes, and when the server stops; then request it again. If too
/// many clients wait, the response is 503 with the code `busy`. A key with permission to submit or to read may call
/// this.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}/reputation/status/{submission_id}", tag = "reputation",
    operation_id = "get_agent_reputation_status",
    params(AgentPath, SubmissionPath, Wait),
    responses(
        (status = 200, description = "The status", body = SubmissionBody),
        responses::OfSubmission, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn status(
    State(state): State<ReputationRoutes>,
    AgentPath(agent_id): AgentPath,
    id: SubmissionPath,
    how: Wait,
) -> Result<Response, ApiError> {
    let record = find(&state, agent_id, id).await?;
    let over = record.stage.is_terminal() || state.gate.stopping.is_cancelled();
    Ok(match how {
        Wait::Within(time) if !over => notice::next(&state, notice::place(&state, record)?, time),
        Wait::Each => notice::each(&state, notice::place(&state, record)?),
        _ => fresh::once(Json(SubmissionBody::of(&record))),
    })
}

pub(super) async fn find(
    state: &ReputationRoutes,
    agent_id: u64,
    SubmissionPath(id): SubmissionPath,
) -> Result<SubmissionRecord, ApiError> {
    let id = id.ok_or_else(no_submission)?;
    let found = state.service()?.find(agent_id, id).await;
    found.map_err(ApiError::store)?.ok_or_else(no_submission)
}

fn no_submission() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "Submission not found")
}
