//! `…/chain/{chain_id}`: what one chain says of an address, entry by entry and in sums.

use axum::{Json, extract::State, response::Response};

use super::{mock, real};
use crate::http::{
    ApiError, App,
    extract::{Caller, ReportChain, SubjectPath, SummaryChain, charge},
    fresh::Known,
    mode, responses,
    wire::{ChainReportBody, ChainSummaryBody},
};

/// The report of one address on one chain.
///
/// An address that the chain does not know has a report of zeros.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}", tag = "reports", operation_id = "chain_report",
    params(
        ("address" = String, Path, description = "Ethereum address or ENS name", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"),
        ("chain_id" = u64, Path, description = "1, 10, 56, 137, 250, 324, 8453, 42161, 43114 or 59144", example = 1),
    ),
    responses((status = 200, description = "The report", body = ChainReportBody), responses::Unchanged, responses::AddressAndChain, responses::Validated, responses::Keyed, responses::Units, responses::Unknown, responses::Chains),
    security(("key" = [])),
)]
pub async fn report(
    caller: Caller<charge::Report>,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    ReportChain(chain): ReportChain,
) -> Result<Response, ApiError> {
    if app.sandbox_only {
        return Ok(mode::marked(Json(mock::on_chain(&app, mode::stand_in(&subject), chain)?)));
    }
    app.require_chain(chain)?;
    let work = async { app.scoring.chain_report(&subject, chain).await.map_err(|error| app.refuse(error)) };
    let report = caller.pay(&app, work).await?;
    known.answer(report.fresh, &real::on_chain(&report, chain, app.chain_label(chain)))
}

/// One address on one chain, in sums.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}/summary", tag = "reports", operation_id = "chain_summary",
    params(
        ("address" = String, Path, description = "Ethereum address or ENS name", example = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045"),
        ("chain_id" = u64, Path, description = "1, 10, 56, 137, 8453, 42161, 42220, 43114, 59144 or 534352", example = 1),
    ),
    responses((status = 200, description = "The sums", body = ChainSummaryBody), responses::Unchanged, responses::AddressOrChain, responses::Validated, responses::Keyed, responses::Units, responses::Unknown, responses::Chains),
    security(("key" = [])),
)]
pub async fn summary(
    caller: Caller<charge::Report>,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    SummaryChain(chain): SummaryChain,
) -> Result<Response, ApiError> {
    if app.sandbox_only {
        let one = app.scoring.sandbox().chain_summary(mode::stand_in(&subject), chain)?;
        return Ok(mode::marked(Json(ChainSummaryBody::from(&one))));
    }
    app.require_chain(chain)?;
    let work = async { app.scoring.chain_summary(&subject, chain).await.map_err(|error| app.refuse(error)) };
    let one = caller.pay(&app, work).await?;
    known.answer(one.fresh, &ChainSummaryBody::from(&one))
}
