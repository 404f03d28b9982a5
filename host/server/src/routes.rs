//! The routes of the server, from all crates that have some. The router, the prices, the body limits and the OpenAPI
//! document are made from their rows.

use std::sync::LazyLock;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use utoipa::openapi;

use crate::{
    document,
    operation::{self, Operations},
};
use assay_agents::Agents;
use assay_batch::BatchRoutes;
use assay_console::config::Docs;
use assay_http::{EXAMPLE, Gate, Operation, Row};
use assay_keys::KeysState;
use assay_report::ReportRoutes;
use assay_reputation::ReputationRoutes;
use assay_rollout::RolloutRoutes;
use assay_sandbox::SandboxRoutes;
use assay_score::ScoreRoutes;
use assay_watch::WatchRoutes;

/// The state of the handlers of a server. Cheap to clone.
#[derive(Clone)]
pub struct Routes {
    pub gate: Gate,
    pub score: ScoreRoutes,
    pub watches: WatchRoutes,
    pub batch: BatchRoutes,
    pub report: ReportRoutes,
    pub agents: Agents,
    pub reputation: ReputationRoutes,
    pub sandbox: SandboxRoutes,
    pub rollout: RolloutRoutes,
    pub keys: KeysState,
    pub operations: Operations,
    pub docs: Docs,
    /// Every response is marked as a mock.
    pub is_sandbox: bool,
}

impl Routes {
    /// Every route of the service.
    pub fn rows(&self) -> Vec<Row> {
        let document = Row::page("/openapi.json", openapi_json, self).open();
        [
            assay_score::routes(&self.score),
            assay_report::routes(&self.report),
            assay_watch::routes(&self.watches),
            assay_batch::routes(&self.batch),
            assay_agents::routes(&self.agents),
            assay_reputation::routes(&self.reputation),
            assay_sandbox::routes(&self.sandbox),
            assay_rollout::routes(&self.rollout),
            assay_keys::routes(&self.keys),
            operation::routes(&self.operations),
            assay_console::pages(&self.docs),
            vec![document],
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The service as one axum router.
    pub fn router(&self) -> Router {
        self.router_with(Vec::new())
    }

    /// The same, with more rows.
    pub fn router_with(&self, more: Vec<Row>) -> Router {
        let router = assay_http::router(&self.gate, self.rows().into_iter().chain(more).collect());
        if self.is_sandbox { assay_sandbox::mark(router) } else { router }
    }
}

fn operations() -> Vec<Operation> {
    [
        assay_score::operations(),
        assay_report::operations(),
        assay_watch::operations(),
        assay_batch::operations(),
        assay_agents::operations(),
        assay_reputation::operations(),
        assay_sandbox::operations(),
        assay_rollout::operations(),
        assay_keys::operations(),
        operation::operations(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The OpenAPI 3.1 document of a server that accepts no payments.
pub fn document() -> openapi::OpenApi {
    document::describe(operations(), false)
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_json().unwrap_or_default());
static PAID: LazyLock<String> = LazyLock::new(|| document::describe(operations(), true).to_json().unwrap_or_default());

async fn openapi_json(State(routes): State<Routes>) -> Response {
    let document: &'static str = if routes.gate.takes_payments { &PAID } else { &DOCUMENT };
    let document = match routes.docs.address {
        Some(address) => document.replace(EXAMPLE, &address.to_string()).into(),
        None => Bytes::from_static(document.as_bytes()),
    };
    ([(header::CONTENT_TYPE, "application/json")], document).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::Method;
    use serde_json::json;

    use super::*;

    #[test]
    fn each_row_has_the_method_and_the_path_of_its_handlers_documentation() {
        for Operation { method, path, id, handler, .. } in operations() {
            let (documented, item) = handler.paths.paths.first_key_value().unwrap();
            let methods = [
                (Method::GET, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::PATCH, &item.patch),
                (Method::DELETE, &item.delete),
            ];
            let found = methods.iter().find_map(|(name, operation)| operation.is_some().then_some(name));
            assert_eq!(found, Some(&method), "{path}");
            // The second path of a handler has a separate operation id.
            assert_eq!(documented == path, id.is_none(), "{path} {documented}");
        }
    }

    #[test]
    fn routes_that_admit_guests_list_no_key_as_an_alternative_if_payments_are_accepted() {
        for is_paid in [false, true] {
            let document = serde_json::to_value(document::describe(operations(), is_paid)).unwrap();
            for Operation { method, path, admission, .. } in operations() {
                let operation = &document["paths"][path][method.as_str().to_lowercase()];
                let needs_none = operation["security"].as_array().into_iter().flatten().any(|one| one == &json!({}));
                assert_eq!(needs_none, is_paid && admission.admits_guests(), "{path}");
            }
        }
    }
}
