//! `GET /api/v2/usage`: what the caller's own key may do, and what it has used.

use std::{collections::BTreeMap, num::NonZeroU32};

use axum::{extract::State, response::Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::{
    ApiError, App,
    extract::{Caller, charge},
    fresh, responses,
};
use crate::access::Price;

/// The caller's own key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(title = "Usage", example = json!({
    "name": "first", "scopes": ["read", "submit"], "limit": 1000, "used": 13, "left": 987, "rate": 600,
    "costs": { "score": 1, "report": 1, "submission": 10, "status": 0, "agents": 0, "models": 0, "sandbox": 0, "usage": 0 }
}))]
pub struct UsageBody {
    /// Of the key.
    name: String,
    /// What it may do: `read`, `submit`, `admin`.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
    /// Units it may use in all; null for a key that is not metered.
    limit: Option<u64>,
    /// Null for a key that is not metered: nothing is counted.
    used: Option<u64>,
    left: Option<u64>,
    /// Requests it may make a minute; null without bound.
    #[schema(value_type = Option<u32>)]
    rate: Option<NonZeroU32>,
    /// Units of one call, by what is called. A list of addresses costs as many times.
    #[schema(value_type = BTreeMap<String, u64>)]
    costs: BTreeMap<&'static str, u64>,
}

/// What your key may do, and the units it has used; free.
///
/// Answers that cost units say so in `Assay-Units-Cost`, and in `Assay-Units-Left` what a metered key has left.
#[utoipa::path(
    get, path = "/api/v2/usage", tag = "usage", operation_id = "usage",
    responses((status = 200, description = "The key", body = UsageBody), responses::Keyed),
    security(("key" = [])),
)]
pub async fn get(caller: Caller<charge::Usage>, State(app): State<App>) -> Result<Response, ApiError> {
    let (key, used) = (caller.key(), caller.used(&app).await?);
    // Nothing costs units where every answer is a mock.
    let cost = |route| if app.source.is_sandbox() { 0 } else { app.access.cost(route) };
    Ok(fresh::once(axum::Json(UsageBody {
        name: key.name.clone(),
        scopes: key.scopes.iter().map(|scope| scope.as_str()).collect(),
        limit: key.units,
        used,
        left: key.units.zip(used).map(|(limit, used)| limit.saturating_sub(used)),
        rate: key.rate,
        costs: Price::ALL.into_iter().map(|price| (name(price), cost(price))).collect(),
    })))
}

fn name(price: Price) -> &'static str {
    match price {
        Price::Score => "score",
        Price::Report => "report",
        Price::Sandbox => "sandbox",
        Price::Models => "models",
        Price::Agents => "agents",
        Price::Status => "status",
        Price::Submission => "submission",
        Price::Usage => "usage",
        Price::Admin => "admin",
    }
}
