//! `GET /api/v2/admin/status`: the state of the server, for operators.

use axum::{Json, extract::State, response::Response};

use super::{
    Operations, responses,
    status_body::{ChainStatusBody, StatusBody, StoreBody},
};
use assay_http::{ApiError, fresh, values::Moment};

/// The state of the host that answers: its chains with their endpoints, prices and index, the queue of submissions, gas
/// at risk, and the store.
///
/// It asks no endpoint and costs nothing: each figure is what the last reads have seen.
#[utoipa::path(
    get, path = "/api/v2/admin/status", tag = "admin", operation_id = "get_status",
    responses((status = 200, description = "The state", body = StatusBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn get(State(state): State<Operations>) -> Result<Response, ApiError> {
    let readiness = state.readiness().await;
    let (submissions, gas) = match &state.reputation {
        Some(reputation) => {
            let (queue, gas) = tokio::try_join!(reputation.queue(), reputation.gas()).map_err(ApiError::store)?;
            (Some(queue.into()), Some(gas.into()))
        }
        None => (None, None),
    };
    let timestamp = Moment::now();
    let now = u64::try_from(timestamp.0.timestamp()).unwrap_or_default();
    let store = StoreBody {
        backend: if state.store.is_shared() { "redis" } else { "embedded" },
        problem: state.rollout.store_fault(),
    };
    Ok(fresh::once(Json(StatusBody {
        version: env!("CARGO_PKG_VERSION"),
        timestamp,
        ready: readiness.reasons.is_empty(),
        reasons: readiness.reasons,
        warnings: readiness.warnings,
        chains: state.scoring.chains().into_iter().map(|chain| ChainStatusBody::of(chain, now)).collect(),
        submissions,
        gas,
        store,
    })))
}
