//! The table of routes. The router, the prices, the body limits and the OpenAPI document are made from it.

use std::sync::LazyLock;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{Method, header},
    response::{IntoResponse, Response},
};
use utoipa::{OpenApi, openapi};

use super::{
    App, admin, agents, backup, check, console, docs,
    document::{self, Operation},
    home, identity, keys, models, ops, report, reputation,
    route::{Admission, Route},
    router::Routes,
    sandbox, score, status, usage,
};
use assay_access::PriceClass;

/// A row is: method, path, admission, what is special about its route, handler, and a separate operation id
/// if the handler has a second path. A unit test compares method and path with the handler's documentation.
macro_rules! table {
    (
        documented {
            $($method:ident $path:literal $admission:ident $([$special:ident])? $($handler:ident)::+
                $(as $id:literal)?;)*
        }
        undocumented { $($plain:literal $($page:ident)::+;)* }
    ) => {
        /// Every route of the service.
        pub fn routes(app: App) -> Routes {
            Routes::new(app)
                $(.add(Route::new(stringify!($method), $path, admission!($admission))$(.$special())?, $($handler)::+))*
                $(.get($plain, $($page)::+))*
        }

        fn operations() -> Vec<Operation> {
            vec![$({
                #[derive(OpenApi)]
                #[openapi(paths($($handler)::+))]
                struct Handler;
                Operation {
                    method: Method::$method,
                    path: $path,
                    admission: admission!($admission),
                    id: None$(.or(Some($id)))?,
                    handler: Handler::openapi(),
                }
            }),*]
        }
    };
}

macro_rules! admission {
    (Operation) => {
        Admission::Operation
    };
    (Public) => {
        Admission::Public
    };
    ($price:ident) => {
        Admission::Priced(PriceClass::$price)
    };
}

table! {
    documented {
        GET "/api/v2/score/address/{address}" Score score::get;
        POST "/api/v2/score/address/{address}" Score score::post;
        GET "/api/v2/score/" Score [several] score::several::mean;
        GET "/api/v2/score/batch/" Score [several] score::several::batch;
        GET "/api/v2/score/address/{address}/history" Score [several] score::history::history;
        POST "/api/v2/score/address/{address}/attestation" Attestation score::attestation::attest;
        GET "/api/v2/score/{id}" Models score::provenance::mine;
        GET "/api/v2/score/{id}/evidence" Status score::provenance::evidence;
        GET "/api/v2/report/address/{address}" Report report::get;
        POST "/api/v2/report/address/{address}" Report report::enhanced::post;
        GET "/api/v2/report/" Report [several] report::aggregated;
        GET "/api/v2/report/address/{address}/chain/{chain_id}" Report report::chain::report;
        GET "/api/v2/report/address/{address}/chain/{chain_id}/summary" Report report::chain::summary;
        GET "/api/v2/report/address/{address}/total/usd" Report report::portfolio::portfolio;
        GET "/api/v2/report/address/{address}/total/usd/aggregate" Report report::portfolio::total;
        GET "/api/v2/identity/address/{address}/attestations" Report identity::attestations;
        GET "/api/v2/agents" Agents agents::list;
        GET "/api/v2/agents/search" Agents agents::search;
        GET "/api/v2/agents/{agent_id}" Agents agents::get;
        GET "/api/v2/agents/{agent_id}/reputation" Agents agents::reputation;
        POST "/api/v2/agents/{agent_id}/reputation" Submission reputation::submit;
        GET "/api/v2/agents/{agent_id}/reputation/status/{submission_id}" Status reputation::status;
        GET "/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}" Status reputation::feedback;
        GET "/api/v2/submissions" Usage reputation::own;
        POST "/api/v2/reputation/{agent_id}" Submission reputation::submit as "submit_reputation";
        GET "/api/v2/reputation/{agent_id}/status/{submission_id}" Status reputation::status as "get_reputation_status";
        GET "/api/v2/reputation/{agent_id}/feedback/{submission_id}" Status reputation::feedback
            as "get_feedback_document";
        GET "/api/v2/sandbox/score/address/{address}" Sandbox sandbox::score::get;
        POST "/api/v2/sandbox/score/address/{address}" Sandbox sandbox::score::post;
        GET "/api/v2/sandbox/score/" Sandbox sandbox::score::mean;
        GET "/api/v2/sandbox/score/batch/" Sandbox sandbox::score::batch;
        GET "/api/v2/sandbox/report/address/{address}" Sandbox sandbox::report::get;
        GET "/api/v2/sandbox/report/address/{address}/total/usd" Sandbox sandbox::report::total;
        GET "/api/v2/sandbox/report/address/{address}/chain/{chain_id}/total/usd" Sandbox sandbox::report::chain_total;
        GET "/api/v2/sandbox/scenarios" Sandbox sandbox::scenarios;
        GET "/api/v2/models" Models models::list;
        GET "/api/v2/models/compare/address/{address}" Score [several] models::compare;
        GET "/api/v2/models/{kind}/report" Models models::report;
        GET "/api/v2/models/{kind}/{version}/card" Models models::card;
        GET "/api/v2/models/{kind}/{version}/component" Status models::component;
        POST "/api/v2/admin/models" Admin [component] admin::add;
        POST "/api/v2/admin/models/check" Admin [component] check::check;
        GET "/api/v2/admin/models/outcomes" Admin models::outcomes;
        PUT "/api/v2/admin/models/{kind}/champion" Admin admin::champion;
        PUT "/api/v2/admin/models/{kind}/challengers" Admin admin::challengers;
        POST "/api/v2/admin/models/{kind}/rollback" Admin admin::roll_back;
        DELETE "/api/v2/admin/models/{kind}/{version}" Admin admin::remove;
        GET "/api/v2/admin/scores/{id}" Admin score::provenance::audited;
        GET "/api/v2/admin/audit" Admin admin::audit;
        GET "/api/v2/admin/keys" Admin keys::list;
        POST "/api/v2/admin/keys" Admin keys::mint;
        DELETE "/api/v2/admin/keys/{name}" Admin keys::revoke;
        GET "/api/v2/admin/status" Admin status::get;
        POST "/api/v2/admin/backup" Admin backup::make;
        GET "/api/v2/usage" Usage usage::get;
        GET "/.well-known/assay-attestation.json" Public score::attestation::signers;
        GET "/healthz" Operation ops::health;
        GET "/readyz" Operation ops::ready;
        GET "/metrics" Operation ops::metrics;
    }
    undocumented {
        "/" home::index;
        "/console" console::moved;
        "/console/" console::page;
        "/console/{*file}" console::file;
        "/openapi.json" openapi_json;
        "/docs" docs::moved;
        "/docs/" docs::page;
    }
}

/// The service as one axum router.
pub fn router(app: App) -> Router {
    routes(app).finish()
}

/// The OpenAPI 3.1 document of a server that accepts no payments.
pub fn document() -> openapi::OpenApi {
    document::describe(operations(), false)
}

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_json().unwrap_or_default());
static PAID: LazyLock<String> = LazyLock::new(|| document::describe(operations(), true).to_json().unwrap_or_default());

async fn openapi_json(State(app): State<App>) -> Response {
    let document: &'static str = if app.x402.is_some() { &PAID } else { &DOCUMENT };
    let document = match app.docs.address {
        Some(address) => document.replace(document::EXAMPLE, &address.to_string()).into(),
        None => Bytes::from_static(document.as_bytes()),
    };
    ([(header::CONTENT_TYPE, "application/json")], document).into_response()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use super::*;
    use crate::sample::Sample;

    #[test]
    fn each_row_has_the_method_and_the_path_of_its_handlers_documentation() {
        for Operation { method, path, id, handler, .. } in operations() {
            let (documented, item) = handler.paths.paths.first_key_value().unwrap();
            let methods = [
                (Method::GET, &item.get),
                (Method::POST, &item.post),
                (Method::PUT, &item.put),
                (Method::DELETE, &item.delete),
            ];
            let found = methods.iter().find_map(|(name, operation)| operation.is_some().then_some(name));
            assert_eq!(found, Some(&method), "{path}");
            // The second path of a handler has an operation id of its own.
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

    /// Paths that are not API resources: pages and their files, and the documentation itself.
    const UNDOCUMENTED: [&str; 8] =
        ["/", "/console", "/console/", "/console/{*file}", "/openapi.json", "/docs", "/docs/", "/docs/{*file}"];

    #[tokio::test]
    async fn every_route_is_documented_and_every_document_is_routed() {
        let sample = Sample::new().await;
        let whole = |path: &str| path.trim_end_matches('/').to_owned();
        let routed: BTreeSet<(String, String)> = routes(sample.app.clone())
            .list()
            .iter()
            .filter(|(_, path)| !UNDOCUMENTED.contains(path))
            .map(|(method, path)| (method.to_lowercase(), whole(path)))
            .collect();
        let document = serde_json::to_value(document()).unwrap();
        let mut documented = BTreeSet::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                documented.insert((method.clone(), whole(path)));
                let responses = operation["responses"].as_object().unwrap();
                let keyed = path.starts_with("/api/");
                assert_eq!(
                    (operation["security"].is_array(), responses.contains_key("401")),
                    (keyed, keyed),
                    "{method} {path}"
                );
                let parameters =
                    operation["parameters"].as_array().into_iter().flatten().filter(|p| p["in"] == "path").count();
                assert_eq!(parameters, path.matches('{').count(), "{method} {path}");
            }
        }
        assert_eq!(documented, routed);
        let mut dangling = Vec::new();
        references(&document, &mut |reference| {
            if document.pointer(reference.trim_start_matches('#')).is_none() {
                dangling.push(reference.to_owned());
            }
        });
        assert_eq!(dangling, Vec::<String>::new());
    }

    /// Whether callers without a key get more from a route than a refusal.
    fn needs_no_key(admission: Admission) -> bool {
        use PriceClass::{Attestation, Submission};
        match admission {
            Admission::Public | Admission::Operation | Admission::Priced(Submission | Attestation) => true,
            priced @ Admission::Priced(_) => priced.admits_guests(),
        }
    }

    #[tokio::test]
    async fn the_guide_says_what_each_route_without_a_key_can_cause() {
        let sample = Sample::new().await;
        let keyed: BTreeSet<String> = operations()
            .into_iter()
            .filter(|operation| !needs_no_key(operation.admission))
            .map(|Operation { method, path, .. }| format!("{method} {path}"))
            .collect();
        let routed: BTreeSet<String> =
            routes(sample.app.clone()).list().iter().map(|(method, path)| format!("{method} {path}")).collect();
        let guide = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/operate.md")).unwrap();
        let section = guide.split("\n## Without a key\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let codes = section.split('`').skip(1).step_by(2);
        let named: Vec<String> = codes.filter(|code| code.contains(" /")).map(str::to_owned).collect();
        assert_eq!(named.iter().cloned().collect::<BTreeSet<_>>(), routed.difference(&keyed).cloned().collect());
        assert_eq!(named.len(), routed.difference(&keyed).count(), "each once");
    }

    fn references(value: &Value, found: &mut impl FnMut(&str)) {
        match value {
            Value::Object(map) => {
                map.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *found);
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
}
