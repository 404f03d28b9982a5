//! `/api/v2/report/…`: everything known about one subject, its parts, and totals.

pub mod aggregated;
pub mod chain;
pub mod enhanced;
pub mod portfolio;

use axum::{extract::State, response::Response};

use super::{
    ApiError, App,
    extract::{Caller, SubjectPath},
    fresh::{self, Known},
    responses,
    wire::ReportBody,
};

/// The credit report of one address: assets, lending positions, activity and lending events.
///
/// An address without activity on any chain has a report of zeros; a name that does not resolve has none.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}", tag = "reports", operation_id = "get_report",
    params(SubjectPath),
    responses(
        (status = 200, description = "The report", body = ReportBody),
        responses::Unchanged, responses::Address, responses::Keyed, responses::Units, responses::Unknown,
        responses::Chains,
    ),
    security(("key" = [])),
)]
pub async fn get(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    let report = app.charged(&caller, 1, app.source.report(&subject, caller.name())).await?;
    let (scored, claimed) = (report.scored.clone(), app.claimed(&report.scored).await);
    let not_covered = app.not_covered(&report.contents);
    let answer = known.answer(scored.fresh, &ReportBody::of(report, claimed, not_covered))?;
    Ok(fresh::identified(answer, [app.rollout.score_id(&scored, caller.owner())]))
}
