//! `/api/v2/sandbox/…`: deterministic mock responses in the same form, for integration tests. They cost nothing and
//! read no chain.

mod report;
mod score;

use std::sync::Arc;

use axum::{Json, extract::State};

use crate::{Sandbox, bodies::ScenariosBody, responses};
use assay_http::ApiError;
use assay_registry::Registry;
use assay_report::Networks;

/// What the handlers of the sandbox paths need.
#[derive(Clone)]
pub struct SandboxRoutes {
    pub registry: Arc<Registry>,
    pub networks: Networks,
}

impl SandboxRoutes {
    /// The sandbox champion of this moment.
    fn sandbox(&self) -> Sandbox {
        Sandbox::now(&self.registry)
    }
}

assay_http::rows! { SandboxRoutes:
    GET "/api/v2/sandbox/score/address/{address}" Sandbox score::get;
    POST "/api/v2/sandbox/score/address/{address}" Sandbox score::post;
    GET "/api/v2/sandbox/score/" Sandbox score::mean;
    GET "/api/v2/sandbox/score/batch/" Sandbox score::batch;
    GET "/api/v2/sandbox/report/address/{address}" Sandbox report::get;
    GET "/api/v2/sandbox/report/address/{address}/total/usd" Sandbox report::total;
    GET "/api/v2/sandbox/report/address/{address}/chain/{chain_id}/total/usd" Sandbox report::chain_total;
    GET "/api/v2/sandbox/scenarios" Sandbox scenarios;
}

/// The addresses and agents with which a server in sandbox mode answers on the production paths as production does in
/// one condition: pending, partial, failed, refused, slow and so on.
///
/// They come from the generator: a server that serves another one has others, or none. The paths under
/// `/api/v2/sandbox` answer plainly for them.
#[utoipa::path(
    get, path = "/api/v2/sandbox/scenarios", tag = "sandbox", operation_id = "list_sandbox_scenarios",
    responses((status = 200, description = "The scenarios", body = ScenariosBody), responses::Keyed, responses::NoChampion),
    security(("key" = [])),
)]
pub(crate) async fn scenarios(State(state): State<SandboxRoutes>) -> Result<Json<ScenariosBody>, ApiError> {
    Ok(Json(state.sandbox().scenarios()?.into()))
}
