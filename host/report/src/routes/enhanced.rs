//! `POST /api/v2/report/address/{address}`: off-chain figures from the caller, added to those of the chains. They are
//! not verified.

use axum::{Json, extract::State, response::Response};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ReportRoutes;
use crate::{bodies::EnhancedBody, responses};
use assay_domain::OffChain;
use assay_http::{
    ApiError,
    extract::{Caller, JsonObject, SubjectPath},
    fresh,
};

/// Off-chain figures and where they come from.
#[derive(Deserialize, ToSchema)]
#[schema(as = OffChainReport, example = json!({
    "name": "My bank", "total_asset_usd": 50_000, "count_transactions": 120
}))]
#[expect(dead_code, reason = "the schema of a body that is read field by field, so that every wrong field is named")]
#[serde(deny_unknown_fields)]
pub(crate) struct OffChainReport {
    /// Name of the source, as the caller describes it.
    #[schema(pattern = r"\S")]
    name: String,
    #[schema(minimum = 0)]
    total_asset_usd: Option<f64>,
    #[schema(minimum = 0)]
    total_collateral_usd: Option<f64>,
    #[schema(minimum = 0)]
    total_debt_usd: Option<f64>,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    count_transactions: Option<u64>,
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    count_transfers: Option<u64>,
}

/// Totals of one address, with off-chain figures added to those of the chains.
///
/// The chains are read for every request. `chains` has only the on-chain figures, chain by chain. The response is
/// computed for every request and must not be stored.
#[utoipa::path(
    post, path = "/api/v2/report/address/{address}", tag = "reports", operation_id = "enhance_report",
    params(SubjectPath),
    request_body(content = OffChainReport, content_type = "application/json"),
    responses(
        (status = 200, description = "The sums", body = EnhancedBody),
        responses::AddressOrName, responses::Validated, responses::Bodied, responses::Keyed, responses::Units,
        responses::NotFound, responses::ChainsDown,
    ),
    security(("key" = [])),
)]
pub(crate) async fn post(
    caller: Caller,
    State(reports): State<ReportRoutes>,
    SubjectPath(subject): SubjectPath,
    body: JsonObject,
) -> Result<Response, ApiError> {
    let (name, off_chain) = read(body)?;
    let one = caller.pay(reports.source.current_summary(&subject)).await?;
    let body = EnhancedBody::of(&one, name, off_chain, |chain| reports.networks.label(chain));
    Ok(fresh::once(Json(body)))
}

fn read(mut body: JsonObject) -> Result<(String, OffChain), ApiError> {
    let name = body.text("name");
    if name.is_none() && body.is_good() {
        return Err(ApiError::plain("Additional data must provide a name field"));
    }
    let off_chain = OffChain {
        asset_usd: body.amount("total_asset_usd"),
        collateral_usd: body.amount("total_collateral_usd"),
        debt_usd: body.amount("total_debt_usd"),
        transactions: body.count("count_transactions"),
        transfers: body.count("count_transfers"),
    };
    body.finish()?;
    Ok((name.unwrap_or_default(), off_chain))
}
