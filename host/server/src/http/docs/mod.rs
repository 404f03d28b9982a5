//! The API's description of itself: `/openapi.json` and, for people, `/docs`. Everything the page loads is in this
//! binary.

mod parameters;
pub mod responses;

use std::sync::{Arc, LazyLock};

use axum::{
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    http::header,
    response::{IntoResponse, Redirect, Response},
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, HttpMethod, PathItem,
        security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme},
    },
};

use parameters::Parameters;

use super::{
    ApiError, admin, agents, backup, error, identity, models, ops, report, reputation, sandbox, score, usage,
    validation, wire,
};

/// The OpenAPI 3.1 document.
pub fn document() -> openapi::OpenApi {
    Document::openapi()
}

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Assay",
        version = "2",
        description = "Credit scores for Ethereum addresses, computed from what the chains say by versioned WebAssembly models.\n\n\
            Every path under `/api/v2` takes an API key as `Authorization: Bearer <key>`. Errors have a `detail`; an unknown path \
            is 404, a method that a path does not take 405, a body beyond the limit 413, an answer that takes too long 504.\n\n\
            `RateLimit-Policy` and `RateLimit` say how many requests a minute the key may make, or an address without a valid one, and how \
            many are left; beyond that the answer is 429, and 503 while too much is at work, both with `Retry-After`. What costs units says \
            so in `Assay-Units-Cost`, and in `Assay-Units-Left` what a metered key has left.\n\n\
            Scores and reports stand for five minutes, and for thirty seconds while anything behind them is incomplete: `Age` and \
            `Cache-Control` say how much of that is left, and `If-None-Match` with their `ETag` gets a 304 while nothing has changed.\n\n\
            A server may take payments by x402: a submission then needs no key but a payment, and the free agent routes need neither."
    ),
    paths(
        score::get, score::post, score::several::mean, score::several::batch, score::provenance::mine,
        report::get, report::enhanced::post, report::aggregated::aggregated, report::chain::report, report::chain::summary,
        report::portfolio::portfolio, report::portfolio::total,
        identity::attestations,
        agents::list, agents::search, agents::get, agents::reputation,
        reputation::submit, reputation::status, reputation::feedback,
        sandbox::score::get, sandbox::score::post, sandbox::score::mean, sandbox::score::batch,
        sandbox::report::get, sandbox::report::total, sandbox::report::chain_total,
        models::list, models::compare, models::report, admin::add, admin::champion, admin::challengers, admin::roll_back, admin::remove,
        admin::audit, score::provenance::audited, backup::make,
        usage::get, ops::health, ops::ready, ops::metrics,
    ),
    components(schemas(wire::CoverageName, wire::PaymentRequiredBody, wire::RangeName, wire::SubmissionStatus, error::DetailBody, error::DetailOrError, error::ErrorBody, error::QuotaBody, error::ValidationBody, validation::Violation)),
    modifiers(&Twins, &Key, &MayBeEmpty, &Parameters),
    tags(
        (name = "scores", description = "Credit scores, 300 to 1000"),
        (name = "reports", description = "What a score stands on"),
        (name = "identity", description = "Who an address is said to belong to"),
        (name = "agents", description = "Agents of the ERC-8004 registries; free"),
        (name = "reputation", description = "Scores of agents' addresses, put on the chain"),
        (name = "sandbox", description = "Deterministic mocks of the same shapes; they cost nothing and read no chain"),
        (name = "models", description = "The scoring models"),
        (name = "usage", description = "What your own key may do and has used"),
        (name = "admin", description = "Moving models and their roles; backups"),
        (name = "operation", description = "For those who run the server; public"),
    ),
)]
struct Document;

/// The security scheme of every path under `/api/v2`.
struct Key;

impl Modify for Key {
    fn modify(&self, document: &mut openapi::OpenApi) {
        let mut scheme = Http::new(HttpAuthScheme::Bearer);
        scheme.description = Some("An API key; `assay key mint` makes one".to_owned());
        let words = "A signed payment by x402 in place of a key, where the server takes them; PAYMENT-SIGNATURE in its version 2";
        let payment = ApiKey::Header(ApiKeyValue::with_description("X-PAYMENT", words));
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
        components.add_security_scheme("x402", SecurityScheme::ApiKey(payment));
    }
}

/// Routes of one handler under both of the contract's paths: it is described under the first, and its name under the
/// second.
struct Twins;

const TWINS: [(&str, &str, &str); 3] = [
    ("/api/v2/agents/{agent_id}/reputation", "/api/v2/reputation/{agent_id}", "submit_reputation"),
    (
        "/api/v2/agents/{agent_id}/reputation/status/{submission_id}",
        "/api/v2/reputation/{agent_id}/status/{submission_id}",
        "reputation_status",
    ),
    (
        "/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}",
        "/api/v2/reputation/{agent_id}/feedback/{submission_id}",
        "feedback_document",
    ),
];

impl Modify for Twins {
    fn modify(&self, document: &mut openapi::OpenApi) {
        for (path, twin, name) in TWINS {
            let Some(item) = document.paths.paths.get(path) else { continue };
            // Where both are there, the other reads what has one path alone.
            let (method, operation) = match (&item.post, &item.get) {
                (Some(post), _) => (HttpMethod::Post, post),
                (None, Some(get)) => (HttpMethod::Get, get),
                (None, None) => continue,
            };
            let mut operation = operation.clone();
            operation.operation_id = Some(name.to_owned());
            document.paths.paths.insert(twin.to_owned(), PathItem::new(method, operation));
        }
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

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| document().to_json().unwrap_or_default().into());

static PAGE: LazyLock<Arc<utoipa_swagger_ui::Config<'static>>> = LazyLock::new(|| {
    // A relative address, so that the page also works behind a proxy's prefix. No validator: it would send the document
    // elsewhere.
    Arc::new(utoipa_swagger_ui::Config::from("../openapi.json").validator_url("none").persist_authorization(true))
});

pub async fn openapi() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}

/// The page's own files are relative to `/docs/`.
pub async fn moved() -> Redirect {
    Redirect::permanent("/docs/")
}

pub async fn index() -> Result<Response, ApiError> {
    file("index.html")
}

/// A path that is not UTF-8 names no file.
pub async fn asset(path: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    file(&path.map_err(|_| ApiError::no_route())?)
}

fn file(path: &str) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(path, PAGE.clone()).map_err(|error| ApiError::internal("docs", error))?;
    let file = found.ok_or_else(ApiError::no_route)?;
    Ok(([(header::CONTENT_TYPE, file.content_type)], file.bytes.into_owned()).into_response())
}
