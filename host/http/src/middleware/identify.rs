//! Request ids: from the client or new, in every log line of the request and in the response.

use std::time::Instant;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;
use uuid::Uuid;

pub(super) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id accepted from a client.
const LONGEST: usize = 64;

pub(crate) async fn identify(mut request: Request, next: Next) -> Response {
    let id = request.headers().get(REQUEST_ID).filter(|id| acceptable(id)).cloned().unwrap_or_else(fresh);
    request.headers_mut().insert(REQUEST_ID, id.clone());
    // Without the query: it may contain private data.
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = request.method().as_str(),
        path = request.uri().path()
    );
    let started = Instant::now();
    let identified = async move {
        let mut response = next.run(request).await;
        tracing::debug!(status = response.status().as_u16(), took_us = started.elapsed().as_micros(), "answered");
        response.headers_mut().insert(REQUEST_ID, id);
        response
    };
    identified.instrument(span).await
}

/// Letters, digits and some punctuation: an id in a log must not forge a line.
fn acceptable(id: &HeaderValue) -> bool {
    let clean = |b: &u8| b.is_ascii_alphanumeric() || b"-_.:".contains(b);
    !id.is_empty() && id.len() <= LONGEST && id.as_bytes().iter().all(clean)
}

fn fresh() -> HeaderValue {
    let mut text = Uuid::encode_buffer();
    HeaderValue::from_str(Uuid::new_v4().simple().encode_lower(&mut text))
        .unwrap_or(HeaderValue::from_static("unidentified"))
}
