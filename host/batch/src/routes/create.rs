//! `POST /api/v2/score/batch`.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::BatchRoutes;
use crate::{
    bodies::JobBody,
    jobs::NewJob,
    responses,
    table::{Form, Table},
};
use assay_access::PriceClass;
use assay_http::{
    ApiError, Violation,
    extract::{Caller, Upload, VersionQuery, optional, single},
    fresh, parameters,
};
use assay_score::NoModelChoice;
use assay_tasks::blocking;

/// `column`: the column of the wallets.
pub(crate) struct ColumnQuery(Option<String>);

parameters!(ColumnQuery:
    optional::<String>("column", "Column of the wallets: address, wallet or name, else the first that has them"));

impl<S: Send + Sync> FromRequestParts<S> for ColumnQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        single(parts, "column").map(|column| Self(column.map(|text| text.to_string())))
    }
}

/// A table of wallets: a list of addresses and names, or of objects with columns of your own.
#[derive(Deserialize, ToSchema)]
#[schema(as = BatchTable, example = json!({
    "rows": [
        { "customer": "A-17", "address": "vitalik.eth" },
        { "customer": "B-4", "address": "0x0000000000000000000000000000000000000001" }
    ]
}))]
#[expect(dead_code, reason = "the schema of a body that is read as a table")]
pub(crate) struct TableBody {
    rows: Vec<Map<String, Value>>,
}

/// Scores a table of wallets, as a job.
///
/// Send CSV with a line of column names, or JSON: a list of addresses and names, a list of objects, or an object with
/// such a list as `rows`. Each row comes back with its own columns. Wallets that are read (found, inactive, not scored)
/// cost the units of one score each, when they are read; invalid, unresolved, unread and repeated rows cost nothing.
/// Without units the job pauses. A row that cannot be read is read once more before the job is done.
#[utoipa::path(
    post, path = "/api/v2/score/batch/", tag = "scores", operation_id = "add_batch",
    params(ColumnQuery, VersionQuery),
    request_body = TableBody,
    responses(
        (status = 202, description = "The job", body = JobBody),
        responses::Validated, responses::Bodied, responses::Keyed, responses::NewJob, responses::VersionRefused,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn create(
    caller: Caller,
    State(state): State<BatchRoutes>,
    _: NoModelChoice,
    ColumnQuery(column): ColumnQuery,
    VersionQuery(model_version): VersionQuery,
    headers: HeaderMap,
    Upload(bytes): Upload,
) -> Result<Response, ApiError> {
    state.check(model_version.as_ref())?;
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let (form, most) = (Form::of(content_type, &bytes), state.jobs.settings().max_rows);
    let table = blocking(move || Table::read(&bytes, form, column.as_deref(), most)).await;
    let table = table.map_err(|error| ApiError::invalid(vec![Violation::of_body(error)]))?;
    let (unit, limit) = (caller.price(PriceClass::Score), caller.key().units);
    let (owner, by) = (caller.owner().to_owned(), caller.name().to_owned());
    let job = state.jobs.create(NewJob { owner, by, table, model_version, unit, limit }).await?;
    tracing::info!(by = caller.name(), job = %job.id, rows = job.rows, "batch job created");
    Ok((StatusCode::ACCEPTED, fresh::once(Json(JobBody::from(&job)))).into_response())
}
