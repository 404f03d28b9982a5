//! `/api/v2/sandbox/…`: deterministic mock responses in the same form, for integration tests. They cost nothing and
//! read no chain.

pub(crate) mod report;
pub(crate) mod score;

use axum::{Json, extract::State};

use crate::{ApiError, App, responses};
use assay_wire::ScenariosBody;

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
pub(crate) async fn scenarios(State(app): State<App>) -> Result<Json<ScenariosBody>, ApiError> {
    Ok(Json(app.sandbox().scenarios()?.into()))
}
