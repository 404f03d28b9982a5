//! Protects other requests from one request: it names one host, its handler has a timeout, and a panic ends only the
//! request itself.

use std::{any::Any, panic::AssertUnwindSafe, time::Duration};

use axum::{
    extract::{Request, State},
    http::{StatusCode, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt;

use crate::{ApiError, call::Call, server::Peer};

/// Responds with 400 to a request of HTTP/1.1 that does not name one host: a proxy may have routed it by another name.
pub(crate) async fn one_host(request: Request, next: Next) -> Response {
    let is_sent = request.extensions().get::<Peer>().is_some();
    let hosts = request.headers().get_all(header::HOST).iter().count();
    let is_wrong = hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11);
    if is_sent && is_wrong {
        let detail = format!("The request has {hosts} Host headers; send exactly one");
        return ApiError::new(StatusCode::BAD_REQUEST, detail).into_response();
    }
    next.run(request).await
}

/// Bytes that a request target leaves for the headers.
const HEADERS: usize = 8 << 10;

/// Responds with 431 to a request whose head is larger than `most`, and with 414 if its target takes all of that. The
/// server reads heads of twice that size; it answers still larger ones without a body.
pub(crate) async fn bounded_head(State(most): State<usize>, request: Request, next: Next) -> Response {
    let target = request.uri().path_and_query().map_or(0, |target| target.as_str().len());
    let lines = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    let first = request.method().as_str().len() + target + "  HTTP/1.1\r\n".len();
    let head = first + lines.sum::<usize>() + "\r\n".len();
    let (status, what) = match target > most.saturating_sub(HEADERS) {
        true => (StatusCode::URI_TOO_LONG, "The path with its query is too long; send lists as a POST request"),
        false if head > most => {
            (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too large; send fewer or shorter ones")
        }
        false => return next.run(request).await,
    };
    ApiError::new(status, format!("{what}. The request line and the headers may have {most} bytes")).into_response()
}

/// Ends a request that panics with 500, and one that takes longer than `longest` with 504.
pub(crate) async fn guard(State(longest): State<Duration>, request: Request, next: Next) -> Response {
    let call = request.extensions().get::<Call>().cloned();
    let mut answer = Box::pin(AssertUnwindSafe(next.run(request)).catch_unwind());
    match tokio::time::timeout(longest, &mut answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(panic)) => ApiError::internal("panic", message(&*panic)).into_response(),
        Err(_) => {
            // Before the handler is dropped.
            call.iter().for_each(|call| call.bill.give_up());
            tracing::warn!(longest_ms = longest.as_millis(), "request took too long");
            ApiError::too_slow().into_response()
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use axum::{
        Router,
        body::{Body, to_bytes},
        handler::Handler,
        middleware::from_fn_with_state,
        routing::get,
    };
    use tower::ServiceExt;

    use super::*;

    async fn answer<T: 'static>(handler: impl Handler<T, ()>, longest: Duration) -> (u16, String) {
        let router = Router::new().route("/", get(handler)).layer(from_fn_with_state(longest, guard));
        let response = router.oneshot(Request::new(Body::empty())).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_a_500_that_says_nothing_of_it() {
        let (status, body) =
            answer(async || -> Response { panic!("the secret inside") }, Duration::from_secs(3600)).await;
        assert_eq!((status, body.as_str()), (500, r#"{"detail":"Internal server error","code":"panic"}"#));
    }

    #[tokio::test]
    async fn a_handler_that_never_ends_is_a_504() {
        let (status, body) = answer(std::future::pending::<Response>, Duration::ZERO).await;
        assert_eq!(status, 504);
        assert!(body.starts_with(r#"{"detail":"#), "{body}");
    }
}
