//! Which pages of other sites may call which routes, tried on every route.

#![expect(clippy::unwrap_used, reason = "its helpers are parts of tests")]

mod sample;

use axum::{Router, body::Body, extract::Request, http::StatusCode, response::Response};
use tower::ServiceExt as _;

use sample::Sample;

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
    let routes = &sample.assembled.routes;
    let table: Vec<_> = routes.rows().iter().map(|row| (row.route.method, row.route.path)).collect();
    let router = routes.router();
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
    let router = sample.assembled.routes.router();
    for (method, path, status) in [("GET", "/api/v2/usage", 401), ("GET", "/none", 404), ("DELETE", "/healthz", 405)] {
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
