//! `/docs`: the OpenAPI document for people, with requests to try, in the look of the console. A key that is entered
//! there stays in the memory of the page.

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse as _, Response},
};

use crate::{config::Docs, filled, html};
use assay_http::fresh::{Known, once};

/// Stands for the configured key.
const KEY_MARK: &str = "{key}";

static PAGE: LazyLock<Bytes> = LazyLock::new(|| filled(&page_with("")));

/// The page, which signs in with `key`.
fn page_with(key: &str) -> String {
    let escapes = [("&", "&amp;"), ("\"", "&quot;"), ("<", "&lt;"), (">", "&gt;")];
    let key = escapes.into_iter().fold(key.to_owned(), |text, (from, to)| text.replace(from, to));
    include_str!("assets/docs.html").replace(KEY_MARK, &key)
}

/// A relative address also works behind a proxy's prefix.
pub(crate) async fn moved() -> Response {
    (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, "docs/")]).into_response()
}

pub(crate) async fn page(State(docs): State<Docs>, known: Known) -> Response {
    match &docs.key {
        None => html(&known, PAGE.clone()),
        // Another key may be configured while the build is the same.
        Some(key) => once(html(&Known::of(&HeaderMap::new()), filled(&page_with(key.expose())))),
    }
}
