//! `GET /api/v2/report/`: totals of several subjects together.

use axum::{extract::State, response::Response};

use crate::http::{
    ApiError, App,
    extract::{Caller, SubjectList, charge},
    fresh::Known,
    responses,
    wire::AggregatedBody,
};

/// Totals of several addresses: dollars and counts are added, attestations are merged, and the earliest and the latest
/// transaction are given.
///
/// Items that are neither an address nor a name are skipped; an address that occurs twice counts once. Each address
/// costs the units of one report.
#[utoipa::path(
    get, path = "/api/v2/report/", tag = "reports", operation_id = "aggregated_report",
    params(("address" = String, Query, description = "Comma-separated addresses or ENS names", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045,vitalik.eth")),
    responses((status = 200, description = "The sums", body = AggregatedBody), responses::Unchanged, responses::Several, responses::Validated, responses::Keyed, responses::Units, responses::Chains),
    security(("key" = [])),
)]
pub async fn aggregated(
    caller: Caller<charge::Report>,
    State(app): State<App>,
    known: Known,
    SubjectList(subjects): SubjectList,
) -> Result<Response, ApiError> {
    let count = subjects.len();
    let all = app.charged(&caller, count, app.source.aggregate(subjects)).await?;
    app.answer(&known, all.fresh, &AggregatedBody::from(all))
}
