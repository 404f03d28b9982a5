//! `GET /api/v2/report/`: totals of several subjects together.

use axum::{extract::State, response::Response};

use crate::http::{
    ApiError, App,
    extract::{Caller, SubjectList},
    fresh::Known,
    responses,
    wire::AggregatedBody,
};

/// Totals of several addresses: dollars and counts are added, attestations are merged, and the earliest and the latest
/// transaction are given.
///
/// Items that are neither an address nor a name are skipped, as `skipped` says; an address that occurs twice counts
/// once. Each address costs the units of one report.
#[utoipa::path(
    get, path = "/api/v2/report/", tag = "reports", operation_id = "get_aggregated_report",
    params(SubjectList),
    responses(
        (status = 200, description = "The sums", body = AggregatedBody),
        responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units,
        responses::Chains,
    ),
    security(("key" = [])),
)]
pub async fn aggregated(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects, mut skipped): SubjectList,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let mut all = app.charged(&caller, count, app.source.aggregate(subjects)).await?;
    skipped.append(&mut all.skipped);
    all.skipped = skipped;
    known.answer(all.fresh, &AggregatedBody::from(all))
}
