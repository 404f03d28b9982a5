//! Mock reports and portfolio values.

use axum::{
    Json,
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use serde::Serialize;
use utoipa::ToSchema;

use super::SandboxRoutes;
use crate::{MockRequest, responses};
use assay_http::{
    ApiError,
    extract::{AddressPath, chain_id, in_path},
    parameters,
    values::{Checksummed, Moment, Usd},
};
use assay_report::bodies::{ReportBody, TotalBody};

/// `{chain_id}`, a chain that this server knows.
pub(crate) struct ChainPath(pub ChainId, pub String);

parameters!(ChainPath: in_path::<ChainId>("chain_id", "A chain that the server knows", 1));

impl FromRequestParts<SandboxRoutes> for ChainPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &SandboxRoutes) -> Result<Self, ApiError> {
        let (number, _) = chain_id(parts, state).await?;
        let known = number.and_then(|id| Some((id, state.networks.name(id)?)));
        known.map(|(id, name)| Self(id, name.to_owned())).ok_or_else(ApiError::invalid_chain)
    }
}
use assay_domain::{ChainId, Claimed};

/// The holdings of an address on one chain, in dollars.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SandboxChainTotal)]
pub(crate) struct ChainTotalBody {
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    #[schema(value_type = f64)]
    total_asset_usd: Usd,
    #[schema(value_type = u64)]
    chain_id: ChainId,
    chain_name: String,
}

/// A mock credit report.
#[utoipa::path(
    get, path = "/api/v2/sandbox/report/address/{address}", tag = "sandbox", operation_id = "get_sandbox_report",
    params(AddressPath),
    responses(
        (status = 200, description = "The report", body = ReportBody),
        responses::BadAddress, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn get(
    State(state): State<SandboxRoutes>,
    AddressPath(address): AddressPath,
) -> Result<Json<ReportBody>, ApiError> {
    let report = state.sandbox().report(&MockRequest::plainly(address))?;
    let not_covered = state.networks.not_covered(&report.contents);
    Ok(Json(ReportBody { sandbox: Some(true), ..ReportBody::of(report, Claimed::Nothing, not_covered) }))
}

/// The mock value of everything an address holds.
#[utoipa::path(
    get, path = "/api/v2/sandbox/report/address/{address}/total/usd", tag = "sandbox",
    operation_id = "get_sandbox_total",
    params(AddressPath),
    responses(
        (status = 200, description = "The value", body = TotalBody),
        responses::BadAddress, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn total(
    State(state): State<SandboxRoutes>,
    AddressPath(address): AddressPath,
) -> Result<Json<TotalBody>, ApiError> {
    let portfolio = state.sandbox().portfolio(address)?;
    Ok(Json(TotalBody::of(address, Moment::now(), portfolio.iter().map(|chain| chain.total_asset_usd), None)))
}

/// The mock value of what an address holds on one chain.
#[utoipa::path(
    get, path = "/api/v2/sandbox/report/address/{address}/chain/{chain_id}/total/usd", tag = "sandbox",
    operation_id = "get_sandbox_chain_total",
    params(AddressPath, ChainPath),
    responses(
        (status = 200, description = "The value", body = ChainTotalBody),
        responses::AddressAndChain, responses::Validated, responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn chain_total(
    State(state): State<SandboxRoutes>,
    AddressPath(address): AddressPath,
    ChainPath(chain_id, chain_name): ChainPath,
) -> Result<Json<ChainTotalBody>, ApiError> {
    let portfolio = state.sandbox().portfolio(address)?;
    let total_asset_usd =
        portfolio.iter().filter(|chain| chain.chain_id == chain_id).map(|chain| Usd(chain.total_asset_usd)).sum();
    Ok(Json(ChainTotalBody {
        address: Checksummed(address),
        timestamp: Moment::now(),
        total_asset_usd,
        chain_id,
        chain_name,
    }))
}
