//! `/api/v2/report/…`: everything known about one subject, its parts, and totals.

pub mod aggregated;
pub mod chain;
pub mod enhanced;
mod mock;
pub mod portfolio;
mod real;

use axum::{extract::State, response::Response};

use super::{
    ApiError, App,
    extract::{Caller, SubjectPath},
    fresh::{self, Known},
    responses,
    wire::ReportBody,
};
use crate::scoring::Reported;

pub(super) use mock::body as mock_body;

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
    match report {
        Reported::Read(report) => {
            let claimed = app.claimed(&report.scored).await;
            let answer = app.answer(&known, report.scored.fresh, &real::body(&app, &report, claimed))?;
            Ok(fresh::identified(answer, [app.rollout.score_id(&report.scored, caller.owner())]))
        }
        Reported::Mock { address, report, unread } => {
            Ok(app.answer_once(&mock::body(&app, (address, *report, unread), false)))
        }
    }
}
