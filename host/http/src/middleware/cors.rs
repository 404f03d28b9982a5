//! Cross-origin requests: which pages of other sites may call which routes from a browser, and which headers they read.
//!
//! Open routes answer every origin; all others, and unknown paths, only those in `http.cors_origins`. No response
//! allows credentials: a page sends its key in a header that it sets itself. Not tower-http's layer: it answers
//! preflights with 200, and knows neither the row of a route nor the methods of its path.

use std::sync::Arc;

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use crate::{Gate, config::WebOrigin, route::Route};

/// The headers of responses that a page may read, in addition to those that browsers always show.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "payment-required, payment-response, x-payment-response, assay-units-cost, assay-units-left, ratelimit, \
     ratelimit-policy, retry-after, assay-score-id, assay-model-reason, x-feedback-hash, x-assay-sandbox, \
     x-request-id, age, etag, www-authenticate",
);
/// The headers of requests that the server reads.
const ACCEPTED: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, x-payment, payment-signature, if-match, if-none-match, \
     x-request-id, assay-model-version, last-event-id, traceparent, tracestate",
);
/// How long a browser keeps the answer to a preflight, in seconds; no browser keeps one for longer.
const KEPT: HeaderValue = HeaderValue::from_static("7200");
const EVERYBODY: HeaderValue = HeaderValue::from_static("*");

/// Adds the headers of cross-origin requests to every response of a route, errors included.
pub(crate) async fn share(State((gate, route)): State<(Gate, Route)>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    if allow(&gate.cors_origins, route, origin.as_ref(), response.headers_mut()) {
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// Answers OPTIONS for the `routes` of one path. Reads nothing, and counts against no rate.
pub(crate) fn preflight(gate: &Gate, routes: &Arc<[Route]>, asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, methods(routes));
    let Some(method) = asked.get(header::ACCESS_CONTROL_REQUEST_METHOD) else { return response };
    headers.append(header::VARY, HeaderValue::from_static("access-control-request-method"));
    // HEAD is answered by the route of GET.
    let method = if method == Method::HEAD.as_str() { Method::GET.as_str().as_bytes() } else { method.as_bytes() };
    let route = routes.iter().find(|route| route.method.as_bytes() == method);
    if allow(&gate.cors_origins, route.copied().unwrap_or(Route::NONE), asked.get(header::ORIGIN), headers) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods(routes));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ACCEPTED);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT);
    }
    response
}

/// Allows `origin` if it may call `route`, and returns whether it may.
fn allow(allowed: &[WebOrigin], route: Route, origin: Option<&HeaderValue>, headers: &mut HeaderMap) -> bool {
    if route.is_open {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, EVERYBODY);
        return true;
    }
    if allowed.is_empty() {
        return false;
    }
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    let origin = origin.filter(|origin| allowed.iter().any(|allowed| allowed.is(origin)));
    origin.is_some_and(|origin| {
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        true
    })
}

fn methods(routes: &[Route]) -> HeaderValue {
    let mut names: Vec<_> = routes.iter().map(|route| route.method).collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    names.push("OPTIONS");
    HeaderValue::try_from(names.join(", ")).unwrap_or(HeaderValue::from_static("OPTIONS"))
}
