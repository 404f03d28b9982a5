//! `…/chain/{chain_id}`: what one chain shows about an address, entry by entry and in totals.

use axum::{extract::State, response::Response};

use super::{mock, real};
use crate::{
    http::{
        ApiError, App,
        extract::{Caller, ReportChain, SubjectPath, SummaryChain},
        fresh::Known,
        responses,
        wire::{ChainReportBody, ChainSummaryBody},
    },
    scoring::Reported,
};

/// The report of one address on one chain.
///
/// An address without activity on the chain has a report of zeros.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}", tag = "reports", operation_id = "get_chain_report",
    params(SubjectPath, ReportChain),
    responses(
        (status = 200, description = "The report", body = ChainReportBody),
        responses::Unchanged, responses::AddressAndChain, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::Chains,
    ),
    security(("key" = [])),
)]
pub async fn report(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    ReportChain(chain): ReportChain,
) -> Result<Response, ApiError> {
    app.require_chain(chain)?;
    let report = app.charged(&caller, 1, app.source.chain_report(&subject, chain)).await?;
    match report {
        Reported::Read(report) => {
            app.answer(&known, report.fresh, &real::on_chain(&report, chain, app.chain_label(chain)))
        }
        Reported::Mock { address, report, unread } => {
            Ok(app.answer_once(&mock::on_chain(&app, (address, *report, unread), chain)))
        }
    }
}

/// Totals of one address on one chain.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}/summary", tag = "reports", operation_id = "get_chain_summary",
    params(SubjectPath, SummaryChain),
    responses(
        (status = 200, description = "The sums", body = ChainSummaryBody),
        responses::Unchanged, responses::AddressOrChain, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::Chains,
    ),
    security(("key" = [])),
)]
pub async fn summary(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    SummaryChain(chain): SummaryChain,
) -> Result<Response, ApiError> {
    app.require_chain(chain)?;
    let one = app.charged(&caller, 1, app.source.chain_summary(&subject, chain)).await?;
    app.answer(&known, one.fresh, &ChainSummaryBody::from(&one))
}
