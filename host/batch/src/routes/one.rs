//! `/api/v2/score/batch/{batch_id}`: one job, its pause and its removal.

use std::str::FromStr;

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{BatchPath, BatchRoutes};
use crate::{bodies::JobBody, responses};
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject},
    fresh,
};

/// The state that a job shall have.
#[derive(Deserialize, ToSchema)]
#[schema(as = BatchState, example = json!({ "state": "paused" }))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
pub(crate) struct StateBody {
    /// `paused` or `running`.
    state: String,
}

/// Whether a job shall run.
#[derive(Default)]
struct Runs(bool);

impl FromStr for Runs {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "running" => Ok(Self(true)),
            "paused" => Ok(Self(false)),
            _ => Err("give paused or running"),
        }
    }
}

/// A batch job and its progress; free.
#[utoipa::path(
    get, path = "/api/v2/score/batch/{batch_id}", tag = "scores", operation_id = "get_batch",
    params(BatchPath),
    responses((status = 200, description = "The job", body = JobBody), responses::OneJob, responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn get(
    caller: Caller,
    State(state): State<BatchRoutes>,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    let job = state.jobs.find(caller.owner(), id).await?;
    Ok(fresh::once(Json(JobBody::from(&job))))
}

/// Pauses a batch job, or resumes it; free.
///
/// A job that was paused because units were used up goes on when it is resumed. A job that is done reads its unread
/// rows again.
#[utoipa::path(
    put, path = "/api/v2/score/batch/{batch_id}/state", tag = "scores", operation_id = "set_batch_state",
    params(BatchPath), request_body = StateBody,
    responses(
        (status = 200, description = "The job", body = JobBody), responses::OneJob, responses::Ended,
        responses::Validated, responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn set_state(
    caller: Caller,
    State(state): State<BatchRoutes>,
    BatchPath(id): BatchPath,
    mut body: JsonObject,
) -> Result<Response, ApiError> {
    let Runs(runs) = body.required("state").unwrap_or_default();
    body.finish()?;
    let job = state.jobs.set_running(caller.owner(), id, (runs, caller.key().units)).await?;
    Ok(fresh::once(Json(JobBody::from(&job))))
}

/// Removes a batch job, with its rows; free.
#[utoipa::path(
    delete, path = "/api/v2/score/batch/{batch_id}", tag = "scores", operation_id = "remove_batch",
    params(BatchPath),
    responses((status = 204, description = "Removed"), responses::OneJob, responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn remove(
    caller: Caller,
    State(state): State<BatchRoutes>,
    BatchPath(id): BatchPath,
) -> Result<Response, ApiError> {
    state.jobs.remove(caller.owner(), id).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}
