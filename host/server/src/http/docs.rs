//! `/docs`: the page that shows the OpenAPI document. The binary contains every file of the page. A key that is entered
//! there stays in memory and is not stored.

use std::sync::{Arc, LazyLock};

use assay_domain::Secret;
use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Redirect, Response},
};
use serde_json::json;

use super::{ApiError, App, fresh};

static PAGE: LazyLock<Arc<utoipa_swagger_ui::Config<'static>>> = LazyLock::new(|| {
    // A relative address also works behind a proxy's prefix. No validator: it would send the document to another
    // server.
    Arc::new(utoipa_swagger_ui::Config::from("../openapi.json").validator_url("none").persist_authorization(false))
});

/// The file of the page that makes it.
const SETUP: &str = "swagger-initializer.js";

/// The style sheet of the page, and what is added to it.
const STYLE: &str = "index.css";
const LOOK: &str = include_str!("docs.css");

/// Runs before the page is made: removes the key that older versions stored.
const FORGET: &str = "try { localStorage.removeItem(\"authorized\"); } catch { /* Storage is disabled. */ }\n";

/// As the console's: only files of this server, no inline script, no frame around it. Swagger UI also sets inline
/// styles and has icons in its style sheet.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page's own files are relative to `/docs/`.
pub(crate) async fn moved() -> Redirect {
    Redirect::permanent("/docs/")
}

pub(crate) async fn index() -> Result<Response, ApiError> {
    file("index.html")
}

/// A path that is not UTF-8 names no file.
pub(crate) async fn asset(
    State(app): State<App>,
    path: Result<Path<String>, PathRejection>,
) -> Result<Response, ApiError> {
    let path = path.map_err(|_| ApiError::no_route())?;
    let file = file(&path)?;
    if *path == SETUP { setup(file, app.docs.key.as_ref()).await } else { Ok(file) }
}

/// The script that makes the page, signed in with `key` if there is one.
async fn setup(file: Response, key: Option<&Secret>) -> Result<Response, ApiError> {
    let failed = |error| ApiError::internal("docs", error);
    let setup = axum::body::to_bytes(file.into_body(), usize::MAX).await.map_err(failed)?;
    let setup = format!("{FORGET}{}", String::from_utf8_lossy(&setup));
    let script = key.map_or_else(|| setup.clone(), |key| signed_in(&setup, key));
    Ok(guarded(fresh::once(([(header::CONTENT_TYPE, "text/javascript")], script))))
}

fn signed_in(setup: &str, key: &Secret) -> String {
    let bearer = json!({ "name": "key", "schema": { "type": "http", "scheme": "bearer" }, "value": key.expose() });
    format!(
        "{setup}\nconst make = window.onload;\n\
         window.onload = () => {{ make(); window.ui.authActions.authorize({}); }};\n",
        json!({ "key": bearer }),
    )
}

/// Adds the security headers of the page.
fn guarded(response: impl IntoResponse) -> Response {
    let mut response = response.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn file(path: &str) -> Result<Response, ApiError> {
    let found = utoipa_swagger_ui::serve(path, PAGE.clone()).map_err(|error| ApiError::internal("docs", error))?;
    let mut file = found.ok_or_else(ApiError::no_route)?;
    if path == STYLE {
        file.bytes.to_mut().extend_from_slice(LOOK.as_bytes());
    }
    Ok(guarded(([(header::CONTENT_TYPE, file.content_type)], file.bytes.into_owned())))
}
