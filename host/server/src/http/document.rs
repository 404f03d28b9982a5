//! The OpenAPI document: one operation from each documented route, and what all of them share.

use axum::http::Method;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, HttpMethod, PathItem,
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};

use super::{error, validation, wire};

/// The address in the examples.
pub const EXAMPLE: &str = "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045";

/// A route in the document.
pub struct Operation {
    pub method: Method,
    pub path: &'static str,
    /// Replaces the operation id of the handler.
    pub id: Option<&'static str>,
    /// A document with the handler's own operation, and the schemas that it names.
    pub handler: openapi::OpenApi,
}

/// The OpenAPI 3.1 document of `operations`.
pub fn describe(operations: Vec<Operation>) -> openapi::OpenApi {
    let mut document = Document::openapi();
    for operation in operations {
        document.merge(operation.placed());
    }
    let modifiers: [&dyn Modify; 2] = [&Key, &MayBeEmpty];
    modifiers.iter().for_each(|modifier| modifier.modify(&mut document));
    document
}

impl Operation {
    /// The handler's document with the method, the path and the id of the route.
    fn placed(mut self) -> openapi::OpenApi {
        let items = std::mem::take(&mut self.handler.paths.paths).into_values();
        let operation = items.flat_map(|item| [item.get, item.post, item.put, item.delete]).flatten().next();
        if let Some(mut operation) = operation {
            operation.operation_id = self.id.map(str::to_owned).or(operation.operation_id);
            let method = match self.method {
                Method::POST => HttpMethod::Post,
                Method::PUT => HttpMethod::Put,
                Method::DELETE => HttpMethod::Delete,
                _ => HttpMethod::Get,
            };
            self.handler.paths.paths.insert(self.path.to_owned(), PathItem::new(method, operation));
        }
        self.handler
    }
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        version = "2",
        description = "Credit scores for Ethereum addresses, computed from on-chain history by versioned WebAssembly \
            models.\n\n\
            Every path under `/api/v2` takes an API key as `Authorization: Bearer <key>`. Every error has a `detail`. \
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
        wire::CoverageName, wire::PaymentRequiredBody, wire::RangeName, wire::SubmissionStatus, error::DetailBody,
        error::DetailOrError, error::ErrorBody, error::QuotaBody, error::ValidationBody, validation::Violation,
    )),
    tags(
        (name = "scores", description = "Credit scores, 300 to 1000"),
        (name = "reports", description = "Assets, positions and lending history behind a score"),
        (name = "identity", description = "Names and attestations of an address"),
        (name = "agents", description = "Agents of the ERC-8004 registries; free"),
        (name = "reputation", description = "Scores of agents' addresses, submitted to the chain"),
        (name = "sandbox", description = "Deterministic mock answers; free, and no chain is read"),
        (name = "models", description = "The scoring models"),
        (name = "usage", description = "Scopes and usage of your key"),
        (name = "admin", description = "Models and their roles, keys, backups"),
        (name = "operation", description = "Health, readiness and metrics; public"),
    ),
)]
struct Document;

/// The security scheme of every path under `/api/v2`.
struct Key;

impl Modify for Key {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("An API key; `assay key mint` creates one".to_owned());
        let words = "A payment by x402, version 1, instead of a key; version 2 is the header `PAYMENT-SIGNATURE`";
        let payment = ApiKey::Header(ApiKeyValue::with_description("X-PAYMENT", words));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
        components.add_security_scheme("x402", SecurityScheme::ApiKey(payment));
    }
}

/// Bodies whose every field may be absent may be absent too.
struct MayBeEmpty;

impl Modify for MayBeEmpty {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for (path, item) in &mut document.paths.paths {
            let body =
                item.post.as_mut().filter(|_| path.contains("/score/")).and_then(|post| post.request_body.as_mut());
            if let Some(openapi::RefOr::T(body)) = body {
                body.required = Some(openapi::Required::False);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use crate::http;

    /// Tools that generate clients name a type by its title, or by its key where it has none.
    #[test]
    fn every_schema_has_a_name_of_its_own_and_no_tuple() {
        let document = serde_json::to_value(http::document()).unwrap();
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let mut names = BTreeSet::new();
        for (key, schema) in schemas {
            let name = schema["title"].as_str().unwrap_or(key);
            assert!(names.insert(name), "two schemas are named {name}");
        }
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
