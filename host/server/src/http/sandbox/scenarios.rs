//! The scenarios that a server in sandbox mode plays on the production paths.

use axum::{Json, extract::State};

use crate::http::{ApiError, App, responses, wire::ScenariosBody};

/// The addresses and agents with which a server in sandbox mode answers on the production paths as production does in
/// one condition: pending, partial, failed, refused, slow and so on.
///
/// They come from the generator: a server that serves another one has others, or none. The paths under
/// `/api/v2/sandbox` answer plainly for them.
#[utoipa::path(
    get, path = "/api/v2/sandbox/scenarios", tag = "sandbox", operation_id = "list_sandbox_scenarios",
    responses((status = 200, description = "The scenarios", body = ScenariosBody), responses::Keyed, responses::Models),
    security(("key" = [])),
)]
pub async fn list(State(app): State<App>) -> Result<Json<ScenariosBody>, ApiError> {
    Ok(Json(app.sandbox().scenarios()?.into()))
}
