//! The OpenAPI document: one operation for each documented route, and the parts that all routes share.

use axum::http::Method;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, HttpMethod, PathItem, RefOr,
        path::ParameterIn,
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityRequirement, SecurityScheme},
    },
};

use crate::examples;
use assay_http::{
    DetailBody, DetailOrError, DetailOrViolations, ErrorBody, Operation, QuotaBody, ValidationBody, Violation,
    values::{CoverageName, RangeName},
};
use assay_payment::bodies::PaymentRequiredBody;
use assay_reputation::bodies::SubmissionStatus;
use assay_watch::Webhook;

/// The OpenAPI 3.1 document of `operations`, for a server that accepts payments if `is_paid`.
pub(crate) fn describe(operations: Vec<Operation>, is_paid: bool) -> openapi::OpenApi {
    let mut document = ApiDocument::openapi();
    for operation in operations {
        document.merge(placed(operation, is_paid));
    }
    add_webhooks(&mut document);
    let modifiers: [&dyn Modify; 2] = [&KeyScheme, &MayBeEmpty];
    modifiers.iter().for_each(|modifier| modifier.modify(&mut document));
    document
}

/// Adds what the receivers of watches get.
fn add_webhooks(document: &mut openapi::OpenApi) {
    let mut hooks = openapi::path::Paths::new();
    for Webhook { kind, item, schemas } in assay_watch::webhooks(examples::of) {
        document.components.get_or_insert_default().schemas.extend(schemas);
        hooks.paths.insert(kind.to_owned(), item);
    }
    document.webhooks = Some(hooks);
}

/// The handler's document with the method, the path and the id of the route.
fn placed(mut route: Operation, is_paid: bool) -> openapi::OpenApi {
    let items = std::mem::take(&mut route.handler.paths.paths).into_values();
    let operation = items.flat_map(|item| [item.get, item.post, item.put, item.patch, item.delete]).flatten().next();
    if let Some(mut operation) = operation {
        operation.operation_id = route.id.map(str::to_owned).or(operation.operation_id);
        // A handler of two paths states the parameters of both.
        operation.parameters.iter_mut().for_each(|parameters| {
            let is_here = |name: &str| route.path.contains(&format!("{{{name}}}"));
            parameters.retain(|one| match one {
                RefOr::T(one) => !matches!(one.parameter_in, ParameterIn::Path) || is_here(&one.name),
                RefOr::Ref(_) => true,
            });
        });
        examples::add(&mut operation);
        if is_paid && route.admission.admits_guests() {
            // An empty requirement among the alternatives: no key is needed.
            operation.security.get_or_insert_default().push(SecurityRequirement::default());
        }
        let method = match route.method {
            Method::POST => HttpMethod::Post,
            Method::PUT => HttpMethod::Put,
            Method::PATCH => HttpMethod::Patch,
            Method::DELETE => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        route.handler.paths.paths.insert(route.path.to_owned(), PathItem::new(method, operation));
    }
    route.handler
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        version = "2",
        description = "Credit scores for Ethereum addresses, computed from on-chain history by versioned WebAssembly \
            models.\n\n\
            Every path under `/api/v2` takes an API key as `Authorization: Bearer <key>`, and so do those under \
            `/v2/models`. Every error has a `detail`; a refused request under `/v2` has an `error`. \
            All paths share these: 404 for an unknown path, 405 for a method that a path does not support, 413 for a \
            body that is too large, 504 for a response that takes too long.\n\n\
            `RateLimit-Policy` and `RateLimit` state the requests per minute of the key, or of an address without a \
            valid key, and how many are left. Beyond the rate the response is 429, and 503 if the server is \
            overloaded; both have `Retry-After`. `Assay-Units-Cost` states the units of a call, and \
            `Assay-Units-Left` how many a metered key has left.\n\n\
            Scores and reports are cached for five minutes, or for thirty seconds if anything behind them is \
            incomplete. `Age` and `Cache-Control` state how much of that is left. `If-None-Match` with the `ETag` \
            returns 304 if nothing has changed.\n\n\
            A server may accept payments by x402. A submission then needs a payment instead of a key, and the free \
            agent routes need neither."
    ),
    components(schemas(
        CoverageName, PaymentRequiredBody, RangeName, SubmissionStatus, DetailBody, DetailOrError,
        DetailOrViolations, ErrorBody, QuotaBody, ValidationBody, Violation,
    )),
    tags(
        (name = "scores", description = "Credit scores, 300 to 1000"),
        (name = "reports", description = "Assets, positions and lending history behind a score"),
        (name = "identity", description = "Names and attestations of an address"),
        (name = "watches", description = "Wallets that the server follows, and the events about them"),
        (name = "agents", description = "Agents of the ERC-8004 registries; free"),
        (name = "reputation", description = "Scores of agents' addresses, submitted to the chain"),
        (name = "sandbox", description = "Deterministic mock answers; free, and no chain is read"),
        (name = "models", description = "The scoring models"),
        (name = "inference", description = "Scores of tensors, in the Open Inference Protocol of KServe and Triton"),
        (name = "usage", description = "Scopes and usage of your key"),
        (name = "admin", description = "Models and their roles, keys, backups"),
        (name = "operation", description = "Health, readiness and metrics; public"),
    ),
)]
struct ApiDocument;

/// The security scheme of every path under `/api/v2`.
struct KeyScheme;

impl Modify for KeyScheme {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("An API key; `assay key mint` creates one".to_owned());
        let words = "A payment by x402, version 1, instead of a key; version 2 is the header `PAYMENT-SIGNATURE`";
        let payment = ApiKey::Header(ApiKeyValue::with_description("X-PAYMENT", words));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
        components.add_security_scheme("x402", SecurityScheme::ApiKey(payment));
        let mut token = Http::new(HttpAuthScheme::Bearer);
        token.description = Some("The `token` of a watch that a payment has bought: manages this watch".to_owned());
        components.add_security_scheme("watch_token", SecurityScheme::Http(token));
    }
}

/// Makes a request body optional if all of its fields are.
struct MayBeEmpty;

impl Modify for MayBeEmpty {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for (path, item) in &mut document.paths.paths {
            let body =
                item.post.as_mut().filter(|_| path.contains("/score/")).and_then(|post| post.request_body.as_mut());
            if let Some(RefOr::T(body)) = body {
                body.required = Some(openapi::Required::False);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    const VERBS: [&str; 21] = [
        "add", "attest", "change", "check", "compare", "enhance", "get", "list", "make", "mint", "remove", "replay",
        "reset", "revoke", "roll", "score", "search", "set", "submit", "test", "try",
    ];

    /// Tools that generate clients name a type by its key, and a function by its operation id.
    #[test]
    fn every_schema_is_called_by_its_name_and_every_operation_by_a_verb() {
        let document = serde_json::to_value(crate::routes::document()).unwrap();
        for (key, schema) in document["components"]["schemas"].as_object().unwrap() {
            assert!(!key.ends_with("Body") && !key.ends_with("Name") && schema["title"].is_null(), "{key}");
        }
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                let verb = id.split_once('_').map(|(verb, _)| verb);
                assert!(verb.is_some_and(|verb| VERBS.contains(&verb)), "{path}: {id}");
            }
        }
    }

    /// The e2e tests compare these examples with the schemas.
    #[test]
    fn every_operation_with_a_body_has_an_example_response() {
        let document = serde_json::to_value(crate::routes::document()).unwrap();
        for (path, item) in document["paths"].as_object().unwrap() {
            for operation in item.as_object().unwrap().values() {
                let responses = operation["responses"].as_object().unwrap().iter();
                let successes = responses.filter(|(status, _)| status.starts_with('2'));
                for (kind, content) in successes.flat_map(|(_, response)| response["content"].as_object()).flatten() {
                    assert!(
                        matches!(&**kind, "application/wasm" | "application/octet-stream")
                            || !content["example"].is_null(),
                        "{path}: {kind}"
                    );
                }
            }
        }
    }

    #[test]
    fn no_schema_has_a_tuple() {
        let document = serde_json::to_value(crate::routes::document()).unwrap();
        fn tuples(value: &Value) -> usize {
            let inside = match value {
                Value::Object(fields) => fields.values().map(tuples).sum(),
                Value::Array(items) => items.iter().map(tuples).sum(),
                _ => 0,
            };
            inside + usize::from(value.get("prefixItems").is_some() || value.get("items") == Some(&Value::Bool(false)))
        }
        assert_eq!(tuples(&document), 0);
    }
}
