//! `GET /api/v2/report/address/{address}`: everything known of one subject.

mod mock;
mod real;

use axum::{
    Json,
    extract::State,
    response::{IntoResponse, Response},
};

use super::{
    ApiError, App,
    docs::responses,
    extract::{Caller, SubjectPath, charge},
    mode,
    wire::ReportBody,
};

pub(super) use mock::mocked;

/// The credit report of one address: assets, lending positions, activity and lending events.
///
/// An address that no chain knows has a report of zeros; a name that does not resolve has none.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}", tag = "reports", operation_id = "report",
    params(("address" = String, Path, description = "Ethereum address or ENS name", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045")),
    responses((status = 200, description = "The report", body = ReportBody), responses::Address, responses::Keyed, responses::Units, responses::Unknown, responses::Chains),
    security(("key" = [])),
)]
pub async fn get(caller: Caller<charge::Report>, State(app): State<App>, SubjectPath(subject): SubjectPath) -> Result<Response, ApiError> {
    if app.sandbox_only {
        let body = mocked(&app, mode::stand_in(&subject), false)?;
        return Ok(mode::marked(Json(body)));
    }
    let report = caller.pay(&app, async { app.scoring.report(&subject).await.map_err(|error| app.refuse(error)) }).await?;
    Ok(Json(real::body(&report, &app.not_covered)).into_response())
}
