//! `/`: links to everything; a page for a browser, JSON for a program.

use std::sync::LazyLock;

use axum::{
    Json,
    body::Bytes,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{filled, html};
use assay_http::fresh::Known;

static PAGE: LazyLock<Bytes> = LazyLock::new(|| filled(include_str!("assets/home.html")));

pub(crate) async fn index(headers: HeaderMap) -> Response {
    let mut response = if prefers_html(&headers) { html(&Known::of(&headers), PAGE.clone()) } else { places() };
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept"));
    response
}

/// The addresses are relative, so that they also work behind a proxy's prefix.
fn places() -> Response {
    Json(json!({
        "name": "Assay",
        "version": env!("CARGO_PKG_VERSION"),
        "console": "console/",
        "documentation": "docs/",
        "openapi": "openapi.json",
        "health": "healthz",
        "readiness": "readyz",
    }))
    .into_response()
}

/// Browsers name `text/html` for what they show; programs take anything.
fn prefers_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted
        .flat_map(|list| list.split(','))
        .any(|item| item.split(';').next().is_some_and(|kind| kind.trim() == "text/html"))
}
