//! The cache headers of a response: `Age`, `Cache-Control` and a strong `ETag`, and 304 for a client that has the same
//! bytes; and the `If-Match` of a change.

use std::convert::Infallible;

use axum::{
    Json,
    extract::FromRequestParts,
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::{ApiError, extract::in_header, parameters};
use assay_domain::Freshness;

/// The tags of `If-None-Match`: the responses that the client has.
pub struct Known(Vec<HeaderValue>);

impl<S: Sync> FromRequestParts<S> for Known {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers))
    }
}

impl Known {
    pub fn of(headers: &HeaderMap) -> Self {
        Self(headers.get_all(header::IF_NONE_MATCH).iter().cloned().collect())
    }

    /// A response with `body`, or 304. The lifetime and `Age` count from the reading of the chains.
    ///
    /// # Errors
    /// 500 when the body cannot be serialised.
    pub fn answer(&self, fresh: Freshness, body: &impl Serialize) -> Result<Response, ApiError> {
        let (bytes, tag) = tagged_json(body)?;
        let mut headers = HeaderMap::new();
        headers.insert(header::AGE, fresh.age(chrono::Utc::now()).as_secs().into());
        // `private`, because one key paid for the response.
        headers.insert(header::CACHE_CONTROL, text(format!("private, max-age={}", fresh.life.as_secs())));
        headers.insert(header::VARY, HeaderValue::from_static("authorization, assay-model-version"));
        headers.insert(header::ETAG, text(tag.clone()));
        if self.has(&tag) {
            return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok((headers, bytes).into_response())
    }

    /// Whether the client has the response with this tag.
    pub fn has(&self, tag: &str) -> bool {
        tags(&self.0).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
    }
}

/// The tags of `If-Match`: the states in which a resource may be changed. Without the header, any state.
#[derive(Debug, Clone, Default)]
pub struct Expected(Vec<HeaderValue>);

parameters!(Expected: in_header("If-Match", "The `ETag` of the state to change; any other state is 412"));

impl<S: Sync> FromRequestParts<S> for Expected {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(parts.headers.get_all(header::IF_MATCH).iter().cloned().collect()))
    }
}

impl Expected {
    /// Whether a resource in this state may be changed. A weak tag matches none.
    pub fn allows(&self, state: &impl Serialize) -> bool {
        let is_tagged = |wanted: &str| tagged_json(state).is_ok_and(|(_, tag)| tag == wanted);
        self.0.is_empty() || tags(&self.0).any(|wanted| wanted == "*" || is_tagged(wanted))
    }
}

/// A response that shows a resource, with the `ETag` of its `state` for [`Expected`].
///
/// # Errors
/// 500 when the state cannot be serialised.
pub fn tagged(state: &impl Serialize, body: &impl Serialize) -> Result<Response, ApiError> {
    let (_, tag) = tagged_json(state)?;
    Ok(([(header::ETAG, text(tag))], Json(body)).into_response())
}

/// `body` as JSON, with its strong tag.
fn tagged_json(body: &impl Serialize) -> Result<(Vec<u8>, String), ApiError> {
    let bytes = serde_json::to_vec(body).map_err(|error| ApiError::internal("serialize", error))?;
    let tag = format!("\"{}\"", hex::encode(Sha256::digest(&bytes)));
    Ok((bytes, tag))
}

fn tags(values: &[HeaderValue]) -> impl Iterator<Item = &str> {
    values.iter().filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(',')).map(str::trim)
}

/// A response that must not be stored.
pub fn once(body: impl IntoResponse) -> Response {
    let mut response = body.into_response();
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Numbers and hex digits are a valid header value.
fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_found_in_every_form_of_the_header() {
        let known =
            |values: &[&'static str]| Known(values.iter().map(|value| HeaderValue::from_static(value)).collect());
        for yes in [&["*"][..], &["\"a\""], &["W/\"a\""], &["\"b\", \"a\""], &["\"b\"", " \"a\""]] {
            assert!(known(yes).has("\"a\""), "{yes:?}");
        }
        for no in [&[][..], &["a"], &["\"b\""], &[""]] {
            assert!(!known(no).has("\"a\""), "{no:?}");
        }
    }

    #[test]
    fn a_change_is_allowed_in_the_state_that_the_client_has_seen() {
        let expected =
            |values: &[&str]| Expected(values.iter().map(|value| HeaderValue::from_str(value).unwrap()).collect());
        let tag = tagged(&[1, 2], &"body").unwrap().headers()[header::ETAG].to_str().unwrap().to_owned();
        let (tag, list, weak) = (tag.as_str(), format!("\"b\", {tag}"), format!("W/{tag}"));
        for yes in [vec![], vec!["*"], vec![tag], vec![list.as_str()], vec!["\"b\"", tag]] {
            assert!(expected(&yes).allows(&[1, 2]), "{yes:?}");
        }
        for no in [vec!["\"b\""], vec![""], vec![weak.as_str()]] {
            assert!(!expected(&no).allows(&[1, 2]), "{no:?}");
        }
        assert!(!expected(&[tag]).allows(&[1, 3]));
    }

    #[test]
    fn an_answer_says_how_old_it_is_and_how_long_it_lasts() {
        let minute = std::time::Duration::from_secs(60);
        let fresh = Freshness { read_at: chrono::Utc::now() - 2 * minute, life: 5 * minute };
        let whole = Known(Vec::new()).answer(fresh, &[1, 2]).unwrap();
        let header = |name| whole.headers().get(name).cloned().unwrap();
        assert_eq!(
            (whole.status(), header(header::CACHE_CONTROL)),
            (StatusCode::OK, HeaderValue::from_static("private, max-age=300"))
        );
        assert!(header(header::AGE).to_str().unwrap().parse::<u64>().unwrap() >= 120);
        let again = Known(vec![header(header::ETAG)]).answer(fresh, &[1, 2]).unwrap();
        assert_eq!(
            (again.status(), again.headers().get(header::ETAG)),
            (StatusCode::NOT_MODIFIED, whole.headers().get(header::ETAG))
        );
        assert_eq!(Known(vec![header(header::ETAG)]).answer(fresh, &[1, 3]).unwrap().status(), StatusCode::OK);
    }
}
