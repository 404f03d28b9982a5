//! `/api/v2/report/…`: everything known of one subject, and its parts and sums.

pub mod aggregated;
pub mod chain;
pub mod enhanced;
mod mock;
pub mod portfolio;
mod real;

use axum::{Json, extract::State, response::Response};

use super::{
    ApiError, App,
    extract::{Caller, SubjectPath, charge},
    fresh::{self, Known},
    mode, responses,
    wire::ReportBody,
};
use crate::scoring::Summarized;
use assay_domain::Subject;

pub(super) use mock::mocked;

/// The credit report of one address: assets, lending positions, activity and lending events.
///
/// An address that no chain knows has a report of zeros; a name that does not resolve has none.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}", tag = "reports", operation_id = "report",
    params(("address" = String, Path, description = "Ethereum address or ENS name", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")),
    responses((status = 200, description = "The report", body = ReportBody), responses::Unchanged, responses::Address, responses::Keyed, responses::Units, responses::Unknown, responses::Chains),
    security(("key" = [])),
)]
pub async fn get(
    caller: Caller<charge::Report>,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    if app.sandbox_only {
        let body = mocked(&app, mode::stand_in(&subject), false)?;
        return Ok(mode::marked(Json(body)));
    }
    let report = caller
        .pay(&app, async { app.scoring.report(&subject, caller.name()).await.map_err(|error| app.refuse(error)) })
        .await?;
    let answer = known.answer(report.scored.fresh, &real::body(&report, &app.not_covered))?;
    Ok(fresh::identified(answer, [app.scoring.score_id(&report.scored, caller.owner())]))
}

/// One subject in sums, paid for.
async fn summed(caller: &Caller<charge::Report>, app: &App, subject: &Subject) -> Result<Summarized, ApiError> {
    if app.sandbox_only {
        return Ok(app.scoring.sandbox().summary(mode::stand_in(subject))?);
    }
    caller.pay(app, async { app.scoring.summary(subject).await.map_err(|error| app.refuse(error)) }).await
}
