//! `/api/v2/sandbox/…`: deterministic mock responses in the same form, for integration tests. They cost nothing and
//! read no chain.

mod report;
mod score;

use axum::{Json, extract::State, http::StatusCode};

use crate::{Mocks, Sandbox, bodies::ScenariosBody, responses};
use assay_http::{ApiError, extract::Caller};
use assay_report::Networks;

/// The state of the handlers of the sandbox paths.
#[derive(Clone)]
pub struct SandboxRoutes {
    pub mocks: Mocks,
    pub networks: Networks,
}

impl SandboxRoutes {
    /// The sandbox champion of this moment.
    fn sandbox(&self) -> Sandbox {
        self.mocks.now()
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
    POST "/api/v2/sandbox/reset" Sandbox reset;
}

/// The addresses and agents with which a server in sandbox mode answers on the production paths as production does in
/// one condition: pending, partial, failed, refused, slow and so on.
///
/// They come from a file of the tester, from the generator, of which another one has others, and from the server. The
/// paths under `/api/v2/sandbox` answer plainly for them.
#[utoipa::path(
    get, path = "/api/v2/sandbox/scenarios", tag = "sandbox", operation_id = "list_sandbox_scenarios",
    responses(
        (status = 200, description = "The scenarios", body = ScenariosBody),
        responses::Keyed, responses::NoChampion,
    ),
    security(("key" = [])),
)]
pub(crate) async fn scenarios(State(state): State<SandboxRoutes>) -> Result<Json<ScenariosBody>, ApiError> {
    Ok(Json(state.sandbox().scenarios()?.into()))
}

/// Forgets how often this key has asked about each scenario, so that those of a first few requests begin again.
///
/// For the start of a test run. Other keys keep their counts.
#[utoipa::path(
    post, path = "/api/v2/sandbox/reset", tag = "sandbox", operation_id = "reset_sandbox",
    responses((status = 204, description = "The counts of this key begin again"), responses::Keyed),
    security(("key" = [])),
)]
pub(crate) async fn reset(caller: Caller, State(state): State<SandboxRoutes>) -> Result<StatusCode, ApiError> {
    state.mocks.forget(caller.name()).await;
    Ok(StatusCode::NO_CONTENT)
}
