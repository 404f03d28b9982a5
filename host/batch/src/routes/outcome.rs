//! `GET /api/v2/score/batch/{batch_id}/result`.

use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::Response,
};

use super::{BatchPath, BatchRoutes};
use crate::{
    bodies::{JobBody, ResultBody},
    records::JobRecord,
    responses,
    result::{Answered, ResultForm, to_csv, to_parquet},
};
use assay_http::{
    ApiError,
    extract::{Caller, optional, refused, single},
    fresh, parameters,
};
use assay_tasks::blocking;

/// `format`, JSON by default.
pub(crate) struct FormatQuery(ResultForm);

parameters!(FormatQuery: optional::<String>("format", "json, csv or parquet; json by default"));

impl<S: Send + Sync> FromRequestParts<S> for FormatQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        match single(parts, "format")? {
            None => Ok(Self(ResultForm::Json)),
            Some(text) => text.parse().map(Self).map_err(|why| refused("format", why)),
        }
    }
}

/// The rows of a batch job, in the order in which they were sent; free. While a job is paused, rows that it has not
/// looked at are `unread`.
///
/// In CSV and Parquet your own columns come first; a column of the server with a name that you use begins with
/// `assay_`. In CSV, a text that a spreadsheet would compute begins with an apostrophe.
#[utoipa::path(
    get, path = "/api/v2/score/batch/{batch_id}/result", tag = "scores", operation_id = "get_batch_result",
    params(BatchPath, FormatQuery),
    responses(
        (
            status = 200, description = "The rows",
            content(
                (ResultBody = "application/json"), (String = "text/csv"),
                (Vec<u8> = "application/vnd.apache.parquet"),
            ),
        ),
        responses::OneJob, responses::Ended, responses::Validated, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn result(
    caller: Caller,
    State(state): State<BatchRoutes>,
    BatchPath(id): BatchPath,
    FormatQuery(form): FormatQuery,
) -> Result<Response, ApiError> {
    let job = state.jobs.find(caller.owner(), id).await?;
    if job.is_active() {
        let words = format!("The batch job has looked at {} of {} rows; read it when it is done", job.seen(), job.rows);
        return Err(ApiError::coded(StatusCode::CONFLICT, "batch_unfinished", words).retry_after(1));
    }
    let mut rows = Vec::with_capacity(job.rows);
    for chunk in 0..job.chunks() {
        rows.extend(state.jobs.chunk(&job, chunk).await.map_err(ApiError::store)?);
    }
    if rows.len() < job.rows {
        // Removed meanwhile; if not, the store has lost rows.
        state.jobs.find(caller.owner(), id).await?;
        return Err(ApiError::internal(
            "store",
            format_args!("batch job {id} has {} of {} rows", rows.len(), job.rows),
        ));
    }
    let bytes = blocking(move || written(&job, form, &Answered::new(&job, rows))).await?;
    let kind = HeaderValue::from_static(form.content_type());
    Ok(fresh::once(([(header::CONTENT_TYPE, kind)], bytes)))
}

fn written(job: &JobRecord, form: ResultForm, answered: &Answered) -> Result<Vec<u8>, ApiError> {
    let failed = |error: &dyn std::fmt::Display| ApiError::internal("serialize", error);
    match form {
        ResultForm::Csv => to_csv(answered).map_err(|error| failed(&error)),
        ResultForm::Parquet => to_parquet(answered).map_err(|error| failed(&error)),
        ResultForm::Json => {
            let body = ResultBody { job: JobBody::from(job), rows: answered.to_json() };
            serde_json::to_vec(&body).map_err(|error| failed(&error))
        }
    }
}
