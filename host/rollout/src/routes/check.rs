//! `POST /api/v2/admin/models/check`: checks a component without adding it to the shelf.

use axum::{Json, extract::State};
use tokio::sync::Semaphore;

use super::{RolloutRoutes, admin::Component};
use crate::{bodies::CheckBody, responses};
use assay_http::{ApiError, extract::Upload};

/// A check compiles the component and measures its calls. Only one runs at a time, to leave processors to requests.
static TURN: Semaphore = Semaphore::const_new(1);

/// Lists every problem of a component, or what its calls cost, without adding it to the shelf.
///
/// As `assay model check`. A component that the server would refuse is a response with `ok` false. Checks run one after
/// another.
#[utoipa::path(
    post, path = "/api/v2/admin/models/check", tag = "admin", operation_id = "check_model",
    request_body(content = inline(Component), content_type = "application/octet-stream",
        description = "A component, or a core module as cargo builds it"),
    responses(
        (status = 200, description = "The result", body = CheckBody),
        responses::Bodied, responses::Keyed,
    ),
    security(("key" = [])),
)]
pub(crate) async fn check(
    State(state): State<RolloutRoutes>,
    Upload(bytes): Upload,
) -> Result<Json<CheckBody>, ApiError> {
    let turn = TURN.acquire().await.map_err(|closed| ApiError::internal("check", closed))?;
    // The turn ends with the work, even if the client disconnects.
    let checking = tokio::task::spawn_blocking(move || {
        let report = state.rollout.registry().check(&bytes);
        drop(turn);
        report
    });
    let checked = checking.await.map_err(|panic| ApiError::internal("check", panic))?;
    Ok(Json(checked.map_err(|error| ApiError::internal("check", error))?.into()))
}
