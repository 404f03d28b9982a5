//! The pages for people: `/console`, `/docs` and `/`. They use only the public API, with the key of the person who
//! signs in.
//! The binary contains every file.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod config;
mod docs;
mod files;
mod home;

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    extract::{Path, rejection::PathRejection},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use assay_http::{ApiError, Row, fresh::Known};
use config::Docs;
use files::FILES;

/// Only files of this server, no inline script, no form that leaves the page, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";
const FOREVER: &str = "public, max-age=31536000, immutable";

/// Stands for the build in the addresses of a page's files.
const BUILD_MARK: &str = "{build}";

/// The digest of all files. It is in their addresses, so that a browser may keep them for ever.
static BUILD: LazyLock<String> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for file in FILES {
        digest.update(file.path);
        digest.update(file.bytes);
    }
    hex::encode(digest.finalize()).chars().take(16).collect()
});

static PAGE: LazyLock<Bytes> = LazyLock::new(|| filled(include_str!("assets/page.html")));

/// `page` with the build in the addresses of its files.
fn filled(page: &str) -> Bytes {
    page.replace(BUILD_MARK, &BUILD).into()
}

/// A page that runs under the console's content policy.
fn html(known: &Known, page: Bytes) -> Response {
    let tag = format!("\"{}\"", *BUILD);
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    let unchanged = known.has(&tag);
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    if unchanged {
        return (StatusCode::NOT_MODIFIED, headers).into_response();
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    (headers, page).into_response()
}

/// The page's own files are relative to `/console/`. A relative address also works behind a proxy's prefix.
pub(crate) async fn moved() -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "console/")]).into_response()
}

pub(crate) async fn page(known: Known) -> Response {
    html(&known, PAGE.clone())
}

/// A file by `<build>/<path>`. While the hosts of a fleet are replaced, a page may ask a host of another build: it gets
/// that host's file, which it must not keep.
pub(crate) async fn file(path: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let Path(path) = path.map_err(|_| ApiError::no_route())?;
    let (build, name) = path.split_once('/').ok_or_else(ApiError::no_route)?;
    let file = FILES.iter().find(|file| file.path == name).ok_or_else(ApiError::no_route)?;
    let life = if build == *BUILD { FOREVER } else { "no-store" };
    let headers = [
        (header::CONTENT_TYPE, file.kind()),
        (header::CACHE_CONTROL, life),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    Ok((headers, Bytes::from_static(file.bytes)).into_response())
}

/// The rows of the pages.
pub fn pages(docs: &Docs) -> Vec<Row> {
    vec![
        Row::page("/", home::index, &()),
        Row::page("/console", moved, &()),
        Row::page("/console/", page, &()),
        Row::page("/console/{*file}", file, &()),
        Row::page("/docs", docs::moved, &()).open(),
        Row::page("/docs/", docs::page, docs).open(),
    ]
}
