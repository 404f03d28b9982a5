//! When a client wants the state of a submission: now, at the next change, or at every change.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};
use url::form_urlencoded;

use super::parameter::{limited, optional, parameters};
use crate::{
    ApiError, App,
    validation::{Location, Violation},
};

/// The longest `wait`, in seconds.
const LONGEST: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The state as it is.
    Now,
    /// The next state, or the same one after this time: `wait` in seconds.
    Within(Duration),
    /// Every state until the last, as events: `Accept: text/event-stream`.
    Each,
}

parameters!(Notice: limited(
    optional::<u64>("wait", "Seconds to wait for the next state; 0 by default").example(Some(30.into())),
    |schema| schema.maximum = Some(LONGEST.into()),
));

impl FromRequestParts<App> for Notice {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
        let wait = wait(parts.uri.query().unwrap_or_default())?;
        let mut accepted = parts.headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        if accepted.any(|list| list.split(',').any(is_event_stream)) {
            return Ok(Self::Each);
        }
        Ok(if wait == 0 { Self::Now } else { Self::Within(Duration::from_secs(wait)) })
    }
}

fn is_event_stream(item: &str) -> bool {
    item.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

fn wait(query: &str) -> Result<u64, ApiError> {
    let given = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "wait").last();
    let Some((_, text)) = given else { return Ok(0) };
    let refused = |violation| Err(ApiError::invalid(vec![violation]));
    match text.parse::<i128>() {
        Ok(seconds) => match u64::try_from(seconds) {
            Ok(seconds) if seconds <= LONGEST => Ok(seconds),
            _ => refused(Violation::refused(Location::Query, "wait", format!("give 0 to {LONGEST} seconds"))),
        },
        Err(_) => refused(Violation::not_an_integer(Location::Query, "wait")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_a_whole_number_of_seconds_up_to_a_minute() {
        for (query, expected) in [("", 0), ("wait=0", 0), ("wait=30", 30), ("wait=9&wait=60", 60), ("other=7", 0)] {
            assert_eq!(wait(query).unwrap(), expected, "{query}");
        }
        for query in ["wait=61", "wait=-1", "wait=", "wait=1.5", "wait=soon", "wait=99999999999999999999"] {
            assert!(wait(query).is_err(), "{query}");
        }
    }
}
