//! `/api/v2/admin/models/drift`.

use axum::{Json, extract::State};

use crate::{bodies::DriftBody, responses, routes::RolloutRoutes};
use assay_http::ApiError;

/// The inputs of credit champion and challengers by week: how far the scored wallets have moved from the table that the
/// model was trained on, or from the first full week.
///
/// The inputs are those of the card of the model, otherwise the figures of a wallet that it reads. A wallet counts once
/// a week; weeks begin on Thursday at 00:00 UTC. Records are kept for `scoring.outcome_days`.
#[utoipa::path(
    get, path = "/api/v2/admin/models/drift", tag = "admin", operation_id = "get_input_drift",
    responses((status = 200, description = "The weeks of each model", body = DriftBody), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn get(State(state): State<RolloutRoutes>) -> Result<Json<DriftBody>, ApiError> {
    let found = state.drift.found().await.map_err(ApiError::store)?;
    state.drift.show(&found).await;
    Ok(Json(found.into()))
}
