//! The request rate of each key and address, and the limit of concurrent requests. A request beyond a limit is refused
//! before any work, with `Retry-After`. Operation routes have no limit.

use std::{num::NonZeroU32, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::origin::origin;
use crate::{
    access::{Admitted, Price, RateState, WINDOW},
    http::{
        ApiError, App,
        extract::Identified,
        route::{Admission, Route},
    },
};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// Path prefixes of requests about one address, with their prices.
const ONE_ADDRESS: [(&str, Price); 3] = [
    ("/api/v2/score/address/", Price::Score),
    ("/api/v2/report/address/", Price::Report),
    ("/api/v2/identity/address/", Price::Report),
];

/// Counts a request for its key, or for its address when it has no valid key: 429 beyond the rate.
pub async fn rate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if is_operation(&request) {
        return next.run(request).await;
    }
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let price = price(&request).filter(|_| !app.source.is_sandbox());
    let Admitted { caller, counted, ahead } = app.access.admit(header, origin(&request, &app.proxies), price).await;
    let refused = counted.and_then(|(policy, state)| Some((policy, state, state.refused?)));
    let mut response = match refused {
        Some((policy, state, wait)) => {
            metrics::counter!("assay_http_refused_total", "reason" => policy).increment(1);
            refusal(policy, state, wait).into_response()
        }
        None => {
            request.extensions_mut().insert(Identified(caller));
            if let Some(ahead) = ahead {
                request.extensions_mut().insert(ahead);
            }
            next.run(request).await
        }
    };
    if let Some((policy, state)) = counted {
        add_headers(response.headers_mut(), policy, state);
    }
    response
}

/// Limits concurrent requests to `http.max_requests`: 503 beyond that.
pub async fn concurrency(State(app): State<App>, request: Request, next: Next) -> Response {
    if is_operation(&request) {
        return next.run(request).await;
    }
    let Ok(_permit) = app.request_permits.try_acquire() else {
        metrics::counter!("assay_http_refused_total", "reason" => "busy").increment(1);
        return ApiError::busy().into_response();
    };
    next.run(request).await
}

/// The price of a request about one address, which is known by its path before the router runs.
fn price(request: &Request) -> Option<Price> {
    let path = request.uri().path();
    ONE_ADDRESS.into_iter().find(|(begin, _)| path.starts_with(begin)).map(|(_, price)| price)
}

/// Operators need these routes most when the server is overloaded, and they cost little.
fn is_operation(request: &Request) -> bool {
    request.extensions().get::<Route>().is_some_and(|route| route.admission == Admission::Operation)
}

fn refusal(policy: &'static str, state: RateState, wait: Duration) -> ApiError {
    let (whose, seconds) = (
        if policy == "key" { "This API key" } else { "This address, without a valid API key," },
        seconds_up(wait).max(1),
    );
    let words = format!("{whose} may make {} requests a minute; try again in {seconds} s", state.rate);
    ApiError::exceeded(policy, "too_many_requests", words).retry_after(seconds)
}

/// The refusal of a key that must wait this long. It shows the rate of a key that may make one request in that time.
pub fn refused_for(seconds: u32) -> ApiError {
    let wait = Duration::from_secs(seconds.into());
    let rate = (WINDOW.as_secs() / u64::from(seconds.max(1))).try_into().ok().and_then(NonZeroU32::new);
    let rate = rate.unwrap_or(NonZeroU32::MIN);
    let mut headers = HeaderMap::new();
    let state = RateState { rate, left: 0, refused: Some(wait) };
    add_headers(&mut headers, "key", state);
    let named = headers.into_iter().filter_map(|(name, value)| Some((name?, value)));
    named.fold(refusal("key", state, wait), |error, (name, value)| error.with_header(name, value))
}

/// Adds the rate and the remaining requests to the quota headers.
fn add_headers(headers: &mut HeaderMap, policy: &str, state: RateState) {
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
