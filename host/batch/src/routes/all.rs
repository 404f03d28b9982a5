//! `GET /api/v2/score/batch/jobs`.

use axum::{
    Json,
    extract::State,
    response::{IntoResponse as _, Response},
};

use super::BatchRoutes;
use crate::{
    bodies::{JobBody, JobsBody},
    responses,
};
use assay_http::{ApiError, extract::Caller, fresh};

/// The batch jobs of this key, the newest first; free.
#[utoipa::path(
    get, path = "/api/v2/score/batch/jobs", tag = "scores", operation_id = "list_batches",
    responses((status = 200, description = "The jobs", body = JobsBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn list(caller: Caller, State(state): State<BatchRoutes>) -> Result<Response, ApiError> {
    let jobs = state.jobs.of(caller.owner()).await.map_err(ApiError::store)?;
    Ok(fresh::once(Json(JobsBody { jobs: jobs.iter().map(JobBody::from).collect() })).into_response())
}
