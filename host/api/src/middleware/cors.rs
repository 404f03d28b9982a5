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

use crate::{App, config::WebOrigin, route::Route};

/// The headers of responses that a page may read, besides those that every page may.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "payment-required, payment-response, x-payment-response, assay-units-cost, assay-units-left, ratelimit, \
     ratelimit-policy, retry-after, assay-score-id, x-feedback-hash, x-assay-sandbox, x-request-id, age, etag, \
     www-authenticate",
);
/// The headers of requests that the server reads.
const ACCEPTED: HeaderValue = HeaderValue::from_static(
    "authorization, content-type, idempotency-key, x-payment, payment-signature, if-none-match, x-request-id, \
     traceparent, tracestate",
);
/// How long a browser keeps the answer to a preflight, in seconds; no browser keeps one for longer.
const KEPT: HeaderValue = HeaderValue::from_static("7200");
const EVERYBODY: HeaderValue = HeaderValue::from_static("*");

/// Adds the headers of cross-origin requests to every response of a route, errors included.
pub(crate) async fn share(State((app, route)): State<(App, Route)>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let mut response = next.run(request).await;
    if allow(&app.cors_origins, route, origin.as_ref(), response.headers_mut()) {
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

/// Answers OPTIONS for the `routes` of one path. Reads nothing, and counts against no rate.
pub(crate) fn preflight(app: &App, routes: &Arc<[Route]>, asked: &HeaderMap) -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ALLOW, methods(routes));
    let Some(method) = asked.get(header::ACCESS_CONTROL_REQUEST_METHOD) else { return response };
    headers.append(header::VARY, HeaderValue::from_static("access-control-request-method"));
    // HEAD is answered by the route of GET.
    let method = if method == Method::HEAD.as_str() { Method::GET.as_str().as_bytes() } else { method.as_bytes() };
    let route = routes.iter().find(|route| route.method.as_bytes() == method);
    if allow(&app.cors_origins, route.copied().unwrap_or(Route::NONE), asked.get(header::ORIGIN), headers) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods(routes));
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, ACCEPTED);
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, KEPT);
    }
    response
}

/// Allows `origin` if it may call `route`, and returns whether it may.
fn allow(allowed: &[WebOrigin], route: Route, origin: Option<&HeaderValue>, headers: &mut HeaderMap) -> bool {
    if route.is_open() {
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

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body};
    use tower::ServiceExt as _;

    use super::*;
    use crate::{routes::routes, sample::Sample};

    const LISTED: &str = "https://app.example:8443";
    const OTHER: &str = "https://other.example";
    /// The paths that every page may read: written out, so that no change of a row opens a path unseen.
    const OPEN: [&str; 13] = [
        "/healthz",
        "/openapi.json",
        "/docs",
        "/docs/",
        "/.well-known/assay-attestation.json",
        "/api/v2/agents",
        "/api/v2/agents/search",
        "/api/v2/agents/{agent_id}",
        "/api/v2/agents/{agent_id}/reputation",
        "/api/v2/agents/{agent_id}/reputation/status/{submission_id}",
        "/api/v2/agents/{agent_id}/reputation/feedback/{submission_id}",
        "/api/v2/reputation/{agent_id}/status/{submission_id}",
        "/api/v2/reputation/{agent_id}/feedback/{submission_id}",
    ];

    async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    fn text<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
        response.headers().get(name).map(|value| value.to_str().unwrap())
    }

    fn varies(response: &Response) -> bool {
        response.headers().get_all("vary").iter().any(|value| value.to_str().unwrap().contains("origin"))
    }

    /// Requests every route and its preflight. Most routes answer with an error.
    async fn check(origins: &[&str]) {
        let sample = Sample::with_origins(origins).await;
        let (table, router) = (routes(sample.app.clone()).list(), routes(sample.app.clone()).finish());
        assert!(OPEN.iter().all(|open| table.contains(&("GET", *open))), "a path is gone");
        for (method, pattern) in table {
            let path = pattern.replace("{kind}", "credit").replace("{*file}", "app.js").replace(['{', '}'], "");
            let is_open = method == "GET" && OPEN.contains(&pattern);
            for (origin, is_listed) in [(LISTED, !origins.is_empty()), (OTHER, false), ("null", false)] {
                let expected = if is_open { Some("*") } else { Some(origin).filter(|_| is_listed) };
                let asks = [("origin", origin), ("access-control-request-method", method)];
                let preflight = ask(&router, "OPTIONS", &path, &asks).await;
                assert_eq!(preflight.status(), StatusCode::NO_CONTENT, "{method} {path}");
                let allowed = text(&preflight, "access-control-allow-methods");
                assert_eq!(allowed.is_some_and(|allowed| allowed.contains(method)), expected.is_some(), "{path}");
                let accepted = text(&preflight, "access-control-allow-headers").unwrap_or_default();
                let named = ["authorization", "x-payment", "payment-signature", "idempotency-key", "content-type"];
                assert!(expected.is_none() || named.iter().all(|name| accepted.contains(name)), "{path} {accepted}");

                let answer = ask(&router, method, &path, &[("origin", origin)]).await;
                let exposed = text(&answer, "access-control-expose-headers").unwrap_or_default();
                let read = ["payment-required", "payment-response", "assay-units-left", "ratelimit", "retry-after"];
                assert!(expected.is_none() || read.iter().all(|name| exposed.contains(name)), "{path} {exposed}");
                for response in [&preflight, &answer] {
                    let said = format!("{method} {path} from {origin}: {:?}", response.headers());
                    assert_eq!(text(response, "access-control-allow-origin"), expected, "{said}");
                    assert_eq!(text(response, "access-control-allow-credentials"), None, "{said}");
                    assert_eq!(varies(response), !is_open && !origins.is_empty(), "{said}");
                }
            }
        }
    }

    #[tokio::test]
    async fn without_a_list_only_open_rows_are_shared() {
        check(&[]).await;
    }

    #[tokio::test]
    async fn listed_origins_read_every_row() {
        check(&[LISTED]).await;
    }

    #[tokio::test]
    async fn errors_and_unknown_paths_are_shared_with_listed_origins() {
        let sample = Sample::with_origins(&[LISTED]).await;
        let router = routes(sample.app.clone()).finish();
        for (method, path, status) in
            [("GET", "/api/v2/usage", 401), ("GET", "/none", 404), ("DELETE", "/healthz", 405)]
        {
            let answer = ask(&router, method, path, &[("origin", LISTED)]).await;
            let allowed = text(&answer, "access-control-allow-origin");
            assert_eq!((answer.status().as_u16(), allowed), (status, Some(LISTED)), "{path}");
        }
        // Requests are limited; preflights are not, and an open path is open with a slash too.
        let plain = ask(&router, "OPTIONS", "/api/v2/agents/", &[]).await;
        let allow = text(&plain, "allow");
        assert_eq!((plain.status(), allow), (StatusCode::NO_CONTENT, Some("GET, HEAD, OPTIONS")));
        let slashed = ask(&router, "GET", "/api/v2/agents/", &[("origin", OTHER)]).await;
        assert_eq!(text(&slashed, "access-control-allow-origin"), Some("*"));
    }
}
