//! `GET /api/v2/usage`: the permissions of the caller's own key, and the units it has used.

use std::{collections::BTreeMap, num::NonZeroU32};

use axum::{extract::State, response::Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{KeysState, responses};
use assay_access::PriceClass;
use assay_http::{ApiError, extract::Caller, fresh};

/// The caller's own key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage, example = json!({
    "name": "first", "scopes": ["read", "submit"], "units": 1000, "used": 13, "left": 987, "rate": 600,
    "costs": { "score": 1, "report": 1, "submission": 10, "status": 0, "agents": 0, "models": 0, "sandbox": 0,
        "watch": 100, "usage": 0 }
}))]
pub(crate) struct UsageBody {
    /// Name of the key.
    name: String,
    /// Its permissions: `read`, `submit`, `admin`.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    /// Total units it may use; null for a key that is not metered.
    units: Option<u64>,
    /// Units used; null for a key that is not metered, because nothing is counted.
    used: Option<u64>,
    left: Option<u64>,
    /// Requests per minute that it may make; null when there is no limit.
    #[schema(value_type = Option<u32>)]
    rate: Option<NonZeroU32>,
    /// Units of one call, by type of call. A list of addresses costs that for each address, a watch for each 30 days.
    #[schema(value_type = BTreeMap<String, u64>)]
    costs: BTreeMap<&'static str, u64>,
}

/// The permissions of your key, and the units it has used; free.
///
/// Responses that cost units have the cost in `Assay-Units-Cost` and, for a metered key, the units that are left in
/// `Assay-Units-Left`.
#[utoipa::path(
    get, path = "/api/v2/usage", tag = "usage", operation_id = "get_usage",
    responses((status = 200, description = "The key", body = UsageBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn get(caller: Caller, State(keys): State<KeysState>) -> Result<Response, ApiError> {
    let (key, used) = (caller.key(), caller.used().await?);
    let body = UsageBody {
        name: key.name.clone(),
        scopes: key.scopes.iter().map(|scope| scope.as_str()).collect(),
        units: key.units,
        used,
        left: key.units.zip(used).map(|(limit, used)| limit.saturating_sub(used)),
        rate: key.rate,
        costs: PriceClass::ALL.into_iter().map(|price| (name(price), keys.access.cost(price))).collect(),
    };
    Ok(fresh::once(axum::Json(body)))
}

fn name(price: PriceClass) -> &'static str {
    match price {
        PriceClass::Score => "score",
        PriceClass::Attestation => "attestation",
        PriceClass::Report => "report",
        PriceClass::Sandbox => "sandbox",
        PriceClass::Models => "models",
        PriceClass::Agents => "agents",
        PriceClass::Status => "status",
        PriceClass::Submission => "submission",
        PriceClass::Watch => "watch",
        PriceClass::Usage => "usage",
        PriceClass::Admin => "admin",
    }
}
