//! `…/total/usd`: the holdings of an address in dollars, by chain and in total.

use axum::{extract::State, response::Response};

use super::ReportRoutes;
use crate::{
    bodies::{ChainValueBody, PortfolioBody, TotalBody},
    responses,
};
use assay_http::{
    ApiError,
    extract::{Caller, SubjectPath},
    fresh::Known,
    values::{Moment, Usd, sentences},
};

/// The holdings of an address in dollars, chain by chain.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/total/usd", tag = "reports", operation_id = "get_portfolio",
    params(SubjectPath),
    responses(
        (status = 200, description = "The values", body = PortfolioBody),
        responses::Unchanged, responses::BadAddress, responses::Keyed, responses::Units, responses::NotFound,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn portfolio(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    let one = caller.pay(reports.source.holdings(&subject)).await?;
    let chains = one.read().map(|chain| ChainValueBody {
        chain_id: chain.chain_id,
        chain_name: reports.networks.label(chain.chain_id),
        total_asset_usd: Usd(chain.summary.asset_usd),
    });
    let unread = one.unread.clone().map(sentences);
    let body = PortfolioBody::of(one.address, Moment(one.fresh.read_at), chains.collect(), unread);
    known.answer(one.fresh, &body)
}

/// The holdings of an address on all chains, as one figure in dollars.
#[utoipa::path(
    get, path = "/api/v2/report/address/{address}/total/usd/aggregate", tag = "reports", operation_id = "get_total",
    params(SubjectPath),
    responses(
        (status = 200, description = "The value", body = TotalBody),
        responses::Unchanged, responses::BadAddress, responses::Keyed, responses::Units, responses::NotFound,
        responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn total(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    known: Known,
    SubjectPath(subject): SubjectPath,
) -> Result<Response, ApiError> {
    let one = caller.pay(reports.source.holdings(&subject)).await?;
    let values = one.read().map(|chain| chain.summary.asset_usd);
    let unread = one.unread.clone().map(sentences);
    let body = TotalBody::of(one.address, Moment(one.fresh.read_at), values, unread);
    known.answer(one.fresh, &body)
}
