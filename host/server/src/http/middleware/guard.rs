//! Protects other requests from one request: bodies have a size limit, handlers have a timeout, and a panic ends only
//! its own request.

use std::{
    any::Any,
    convert::Infallible,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    extract::{Request, State},
    http::{StatusCode, Version, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures::FutureExt;
use tower::{Layer, Service};

use crate::http::{
    ApiError, App,
    bill::Bill,
    extract,
    route::{BodySize, Route},
    server::Peer,
};

/// Longest wait for the rest of a discarded body.
const DISCARD: Duration = Duration::from_secs(10);

/// Responds with 400 to a request of HTTP/1.1 that does not name one host: a proxy may have routed it by another name.
pub async fn one_host(request: Request, next: Next) -> Response {
    let is_sent = request.extensions().get::<Peer>().is_some();
    let hosts = request.headers().get_all(header::HOST).iter().count();
    let is_wrong = hosts > 1 || (hosts == 0 && request.version() == Version::HTTP_11);
    if is_sent && is_wrong {
        let detail = format!("The request has {hosts} Host headers; send exactly one");
        return ApiError::new(StatusCode::BAD_REQUEST, detail).into_response();
    }
    next.run(request).await
}

/// Responds with 413 to a declared length beyond the limit of the route. The extractors apply the same limit to a body
/// without a declared length.
pub async fn body_limit(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let size = request.extensions().get::<Route>().map_or(BodySize::Small, |route| route.body);
    let limit = size.limit(&app.limits);
    request.extensions_mut().insert(limit);
    match tokio::time::timeout(DISCARD, extract::check_declared(request, limit)).await {
        Ok(Ok(request)) => next.run(request).await,
        Ok(Err(error)) => error.into_response(),
        Err(_) => ApiError::beyond(limit, None).into_response(),
    }
}

#[derive(Clone, Copy)]
pub struct Guard {
    longest: Duration,
}

impl Guard {
    pub fn new(longest: Duration) -> Self {
        Self { longest }
    }
}

#[derive(Clone)]
pub struct Guarded<S> {
    inner: S,
    longest: Duration,
}

impl<S> Layer<S> for Guard {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { inner, longest: self.longest }
    }
}

impl<S> Service<Request> for Guarded<S>
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let longest = self.longest;
        let bill = request.extensions().get::<Bill>().cloned();
        let mut answer = Box::pin(AssertUnwindSafe(self.inner.call(request)).catch_unwind());
        Box::pin(async move {
            Ok(match tokio::time::timeout(longest, &mut answer).await {
                Ok(Ok(answer)) => answer?,
                Ok(Err(panic)) => ApiError::internal("panic", message(&*panic)).into_response(),
                Err(_) => {
                    // Before the handler is dropped.
                    bill.iter().for_each(Bill::give_up);
                    tracing::warn!(longest_ms = longest.as_millis(), "request took too long");
                    ApiError::too_slow().into_response()
                }
            })
        })
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without words")
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use tower::{ServiceExt, service_fn};

    use super::*;

    async fn answer<F>(handler: fn() -> F, longest: Duration) -> (u16, String)
    where
        F: Future<Output = Response> + Send + 'static,
    {
        let handler = service_fn(move |_: Request| async move { Ok::<_, Infallible>(handler().await) });
        let response = Guard::new(longest).layer(handler).oneshot(Request::new(Body::empty())).await.unwrap();
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_panic_is_a_500_that_says_nothing_of_it() {
        let (status, body) = answer(|| async { panic!("the secret inside") }, Duration::from_secs(3600)).await;
        assert_eq!((status, body.as_str()), (500, r#"{"detail":"Internal server error","code":"panic"}"#));
    }

    #[tokio::test]
    async fn a_handler_that_never_ends_is_a_504() {
        let (status, body) = answer(std::future::pending::<Response>, Duration::ZERO).await;
        assert_eq!(status, 504);
        assert!(body.starts_with(r#"{"detail":"#), "{body}");
    }
}
