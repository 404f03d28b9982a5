//! `…/chain/{chain_id}`: what one chain shows about an address, entry by entry and in totals.

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
    response::Response,
};
use serde_json::Value;
use utoipa::openapi::schema::Object;

use super::ReportRoutes;
use crate::{
    bodies::{ChainReportBody, ChainSummaryBody},
    responses,
};
use assay_domain::ChainId;
use assay_http::{
    ApiError,
    extract::{Caller, SubjectPath, chain_id, in_path, limited},
    fresh::Known,
    parameters,
};

/// The chains of the chain report, by contract.
const REPORT_CHAINS: [ChainId; 10] = [1, 137, 42161, 10, 8453, 43114, 56, 250, 324, 59144];
/// The chains of the chain summary, by contract.
const SUMMARY_CHAINS: [ChainId; 10] = [1, 10, 56, 137, 8453, 42220, 42161, 43114, 534_352, 59144];

/// `{chain_id}`, a chain of the chain report.
pub(crate) struct ReportChain(pub ChainId);

parameters!(ReportChain: limited(in_path::<ChainId>("chain_id", "Chain of the report", 1), one_of(REPORT_CHAINS)));

/// `{chain_id}`, a chain of the chain summary.
pub(crate) struct SummaryChain(pub ChainId);

parameters!(SummaryChain: limited(in_path::<ChainId>("chain_id", "Chain of the summary", 1), one_of(SUMMARY_CHAINS)));

/// Limits a schema to `chains`.
fn one_of<const N: usize>(mut chains: [ChainId; N]) -> impl FnOnce(&mut Object) {
    chains.sort_unstable();
    move |schema| schema.enum_values = Some(chains.map(Value::from).to_vec())
}

impl<S: Send + Sync> FromRequestParts<S> for ReportChain {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (number, _) = chain_id(parts, state).await?;
        number.filter(|id| REPORT_CHAINS.contains(id)).map(Self).ok_or_else(ApiError::invalid_chain)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for SummaryChain {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let (number, text) = chain_id(parts, state).await?;
        let known = number.filter(|id| SUMMARY_CHAINS.contains(id));
        known.map(Self).ok_or_else(|| ApiError::plain(format!("Unsupported chain: {text}")))
    }
}

/// The report of one address on one chain.
///
/// An address without activity on the chain has a report of zeros.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}", tag = "reports", operation_id = "get_chain_report",
    params(SubjectPath, ReportChain),
    responses(
        (status = 200, description = "The report", body = ChainReportBody),
        responses::Unchanged, responses::AddressAndChain, responses::Validated, responses::Keyed, responses::Units,
        responses::NotFound, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn report(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    ReportChain(chain): ReportChain,
) -> Result<Response, ApiError> {
    reports.networks.require(chain)?;
    let report = caller.pay(reports.source.chain_report(&subject, chain)).await?;
    known.answer(report.fresh, &ChainReportBody::of(report, chain, reports.networks.label(chain)))
}

/// Totals of one address on one chain.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/chain/{chain_id}/summary", tag = "reports",
    operation_id = "get_chain_summary",
    params(SubjectPath, SummaryChain),
    responses(
        (status = 200, description = "The sums", body = ChainSummaryBody),
        responses::Unchanged, responses::AddressOrChain, responses::Validated, responses::Keyed, responses::Units,
        responses::NotFound, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn summary(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
    SummaryChain(chain): SummaryChain,
) -> Result<Response, ApiError> {
    reports.networks.require(chain)?;
    let one = caller.pay(reports.source.chain_summary(&subject, chain)).await?;
    known.answer(one.fresh, &ChainSummaryBody::from(&one))
}
