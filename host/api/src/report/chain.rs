//! `…/chain/{chain_id}`: what one chain shows about an address, entry by entry and in totals.

use axum::{extract::State, response::Response};

use crate::{
    ApiError, App,
    extract::{Caller, ReportChain, SubjectPath, SummaryChain},
    fresh::Known,
    responses,
};
use assay_wire::{ChainReportBody, ChainSummaryBody};

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
pub(crate) async fn report(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    ReportChain(chain): ReportChain,
) -> Result<Response, ApiError> {
    app.require_chain(chain)?;
    let report = app.charged(&caller, 1, app.source.chain_report(&subject, chain)).await?;
    known.answer(report.fresh, &ChainReportBody::of(report, chain, app.chain_label(chain)))
}

/// Totals of one address on one chain.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}/summary", tag = "reports",
    operation_id = "get_chain_summary",
    params(SubjectPath, SummaryChain),
    responses(
        (status = 200, description = "The sums", body = ChainSummaryBody),
        responses::Unchanged, responses::AddressOrChain, responses::Validated, responses::Keyed, responses::Units,
        responses::Unknown, responses::Chains,
    ),
    security(("key" = [])),
)]
pub(crate) async fn summary(
    caller: Caller,
    State(app): State<App>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    SummaryChain(chain): SummaryChain,
) -> Result<Response, ApiError> {
    app.require_chain(chain)?;
    let one = app.charged(&caller, 1, app.source.chain_summary(&subject, chain)).await?;
    known.answer(one.fresh, &ChainSummaryBody::from(&one))
}
