//! The rate of a key or an address: its headers, and the refusal beyond it, with `Retry-After`.

use std::{num::NonZeroU32, time::Duration};

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use crate::ApiError;
use assay_access::{Count, RateState, WINDOW};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The refusal of a request that was counted beyond its rate.
pub(crate) fn refusal((policy, state): Count) -> Option<ApiError> {
    let wait = state.refused?;
    metrics::counter!("assay_http_refused_total", "reason" => policy).increment(1);
    Some(too_many((policy, state), wait))
}

fn too_many((policy, state): Count, wait: Duration) -> ApiError {
    let whose = match policy {
        "key" => "This API key",
        "guests" => "All callers without an API key together",
        "payers" => "All callers who pay without an API key together",
        _ => "This address, without a valid API key,",
    };
    let seconds = seconds_up(wait).max(1);
    let words = format!("{whose} may make {} requests a minute; try again in {seconds} s", state.rate);
    ApiError::exceeded(policy, "too_many_requests", words).retry_after(seconds)
}

/// The refusal of a key that must wait this long. It shows the rate of a key that may make one request in that time.
pub fn refused_for(seconds: u32) -> ApiError {
    let wait = Duration::from_secs(seconds.into());
    let rate = (WINDOW.as_secs() / u64::from(seconds.max(1))).try_into().ok().and_then(NonZeroU32::new);
    let rate = rate.unwrap_or(NonZeroU32::MIN);
    let mut headers = HeaderMap::new();
    let count = ("key", RateState { rate, left: 0, refused: Some(wait) });
    add_headers(&mut headers, count);
    let named = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
    named.fold(too_many(count, wait), |error, (name, value)| error.with_header(name, value))
}

/// Adds the rate and the remaining requests to the quota headers.
pub(crate) fn add_headers(headers: &mut HeaderMap, (policy, state): Count) {
    let size = format!("\"{policy}\";q={};w={}", state.rate, WINDOW.as_secs());
    let left = format!("\"{policy}\";r={};t={}", state.left, seconds_up(state.resets_in()));
    for (name, item) in [(POLICY, size), (LIMIT, left)] {
        let others = headers.get(&name).and_then(|value| value.to_str().ok());
        let list = others.map_or_else(|| item.clone(), |others| format!("{others}, {item}"));
        // Digits and names are a valid header value.
        if let Ok(value) = HeaderValue::try_from(list) {
            headers.insert(name, value);
        }
    }
}

/// Seconds, rounded up.
fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
