//! `/docs`: the page that shows the OpenAPI document. The binary contains every file of the page.

use std::sync::{Arc, LazyLock};

use axum::{
    extract::{Path, rejection::PathRejection},
    http::header,
    response::{IntoResponse, Redirect, Response},
};

use super::ApiError;

static PAGE: LazyLock<Arc<utoipa_swagger_ui::Config<'static>>> = LazyLock::new(|| {
    // A relative address also works behind a proxy's prefix. No validator: it would send the document to another server.
    Arc::new(utoipa_swagger_ui::Config::from("../openapi.json").validator_url("none").persist_authorization(true))
});

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
