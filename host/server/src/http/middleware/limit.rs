//! What keeps some from crowding out the others: a rate for each key and address, and room for so many requests at
//! once. Who passes them is told at once and when to come back, before any work is done. Those who run the server are
//! always let in.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::origin::origin;
use crate::{
    access::{self, AccessError, Standing, WINDOW},
    http::{ApiError, App},
};

const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// Seconds after which a full house is worth another try.
const MOMENT: u64 = 1;

/// Who calls, as it was found out to count the request.
#[derive(Clone)]
pub struct Identified(pub Result<Arc<access::Caller>, AccessError>);

/// Counts a request of its key, or of its address where it has no valid one: 429 beyond the rate.
pub async fn rate(State(app): State<App>, mut request: Request, next: Next) -> Response {
    if is_operation(&request) {
        return next.run(request).await;
    }
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let caller = app.access.identify(header).await;
    let counted = match &caller {
        Ok(caller) => app.access.count(caller).await,
        Err(_) => app.access.count_stranger(origin(&request, &app.proxies)).await,
    };
    let refused = counted.and_then(|(policy, standing)| Some((policy, standing, standing.refused?)));
    let mut response = match refused {
        Some((policy, standing, wait)) => {
            metrics::counter!("assay_http_refused_total", "reason" => policy).increment(1);
            refusal(policy, standing, wait).into_response()
        }
        None => {
            request.extensions_mut().insert(Identified(caller));
            next.run(request).await
        }
    };
    if let Some((policy, standing)) = counted {
        tell(response.headers_mut(), policy, standing);
    }
    response
}

/// Lets so many requests be at work at once: 503 beyond that.
pub async fn room(State(app): State<App>, request: Request, next: Next) -> Response {
    if is_operation(&request) {
        return next.run(request).await;
    }
    let Ok(_permit) = app.room.try_acquire() else {
        metrics::counter!("assay_http_refused_total", "reason" => "busy").increment(1);
        let words = "Too many requests are at work at this moment; try again";
        return ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", words).retry_after(MOMENT).into_response();
    };
    next.run(request).await
}

/// They cost next to nothing, and are needed most when nothing else is answered.
fn is_operation(request: &Request) -> bool {
    matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics")
}

fn refusal(policy: &'static str, standing: Standing, wait: Duration) -> ApiError {
    let (whose, seconds) =
        (if policy == "key" { "This API key" } else { "This address, without a valid API key," }, whole(wait).max(1));
    let words = format!("{whose} may make {} requests a minute; try again in {seconds} s", standing.rate);
    ApiError::exceeded(policy, "too_many_requests", words).retry_after(seconds)
}

/// The rate and what is left of it, behind what the answer says of other quotas.
fn tell(headers: &mut HeaderMap, policy: &str, standing: Standing) {
    let size = format!("\"{policy}\";q={};w={}", standing.rate, WINDOW.as_secs());
    let left = format!("\"{policy}\";r={};t={}", standing.left, whole(standing.resets_in()));
    for (name, item) in [(POLICY, size), (LIMIT, left)] {
        let others = headers.get(&name).and_then(|value| value.to_str().ok());
        let list = others.map_or_else(|| item.clone(), |others| format!("{others}, {item}"));
        // Digits and names are always a header's value.
        if let Ok(value) = HeaderValue::try_from(list) {
            headers.insert(name, value);
        }
    }
}

/// Seconds, begun ones as whole ones.
fn whole(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}
