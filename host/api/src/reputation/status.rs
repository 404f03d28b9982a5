//! The status of a submission.

use assay_submissions::reputation::records::SubmissionRecord;
use axum::{Json, extract::State, response::Response};

use super::{notice, service};
use crate::{
    ApiError, App,
    extract::{AgentPath, Notice, SubmissionPath},
    fresh, responses,
};
use assay_wire::SubmissionBody;

/// The status of a submission; free.
///
/// Poll every 5 to 10 seconds until it is `confirmed` or `failed`, or let the server tell: `wait` answers when the
/// state changes, at the latest after so many seconds with the same state. With `Accept: text/event-stream` the
/// response is a stream of events named `status`, each with this body as its data: the present state, then every change
/// until the last one. A stream ends after 15 minutes, and when the server stops; ask again then. When too many clients
/// wait, the response is 503 with the code `busy`. A key with permission to submit or to read may call this.
#[utoipa::path(
    get, path = "/api/v2/agents/{agent_id}/reputation/status/{submission_id}", tag = "reputation",
    operation_id = "get_agent_reputation_status",
    params(AgentPath, SubmissionPath, Notice),
    responses(
        (status = 200, description = "How it stands", body = SubmissionBody),
        responses::OfSubmission, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn status(
    State(app): State<App>,
    AgentPath(agent_id): AgentPath,
    id: SubmissionPath,
    how: Notice,
) -> Result<Response, ApiError> {
    let record = find(&app, agent_id, id).await?;
    let over = record.stage.is_terminal() || app.stopping.is_cancelled();
    Ok(match how {
        Notice::Within(time) if !over => notice::next(&app, notice::place(&app, record)?, time),
        Notice::Each => notice::each(&app, notice::place(&app, record)?),
        _ => fresh::once(Json(SubmissionBody::of(&record))),
    })
}

pub(super) async fn find(
    app: &App,
    agent_id: u64,
    SubmissionPath(id): SubmissionPath,
) -> Result<SubmissionRecord, ApiError> {
    let id = id.ok_or_else(ApiError::no_submission)?;
    let found = service(app)?.find(agent_id, id).await;
    found.map_err(ApiError::store)?.ok_or_else(ApiError::no_submission)
}
