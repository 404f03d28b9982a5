//! `/docs`: the page that shows the OpenAPI document. The binary contains every file of the page.

use std::sync::{Arc, LazyLock};

use assay_domain::Secret;
use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::header,
    response::{IntoResponse, Redirect, Response},
};
use serde_json::json;

use super::{ApiError, App, fresh};

static PAGE: LazyLock<Arc<utoipa_swagger_ui::Config<'static>>> = LazyLock::new(|| {
    // A relative address also works behind a proxy's prefix. No validator: it would send the document to another server.
    Arc::new(utoipa_swagger_ui::Config::from("../openapi.json").validator_url("none").persist_authorization(true))
});

/// The file of the page that makes it.
const SETUP: &str = "swagger-initializer.js";

/// The page's own files are relative to `/docs/`.
pub async fn moved() -> Redirect {
    Redirect::permanent("/docs/")
}

pub async fn index() -> Result<Response, ApiError> {
    file("index.html")
}

/// A path that is not UTF-8 names no file.
pub async fn asset(State(app): State<App>, path: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    let path = path.map_err(|_| ApiError::no_route())?;
    let file = file(&path)?;
    match &app.docs.key {
        Some(key) if *path == SETUP => signed_in(file, key).await,
        _ => Ok(file),
    }
}

/// The script that makes the page, with the page signed in by `key`.
async fn signed_in(setup: Response, key: &Secret) -> Result<Response, ApiError> {
    let failed = |error| ApiError::internal("docs", error);
    let setup = axum::body::to_bytes(setup.into_body(), usize::MAX).await.map_err(failed)?;
    let bearer = json!({ "name": "key", "schema": { "type": "http", "scheme": "bearer" }, "value": key.expose() });
    let script = format!(
        "{}\nconst make = window.onload;\nwindow.onload = () => {{ make(); window.ui.authActions.authorize({}); }};\n",
        String::from_utf8_lossy(&setup),
        json!({ "key": bearer }),
    );
    Ok(fresh::once(([(header::CONTENT_TYPE, "text/javascript")], script)))
}

fn file(path: &str) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(path, PAGE.clone()).map_err(|error| ApiError::internal("docs", error))?;
    let file = found.ok_or_else(ApiError::no_route)?;
    Ok(([(header::CONTENT_TYPE, file.content_type)], file.bytes.into_owned()).into_response())
}
