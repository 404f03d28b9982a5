//! When a client wants the state of a submission: now, at the next change, or at every change.

use std::time::Duration;

use axum::{
    extract::FromRequestParts,
    http::{header, request::Parts},
};

use assay_http::{
    ApiError, Location, Violation,
    extract::{limited, optional, single},
    parameters,
};

/// The longest `wait`, in seconds.
const LONGEST: u64 = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// The state as it is.
    Now,
    /// The next state, or the same one after this time: `wait` in seconds.
    Within(Duration),
    /// Every state until the last, as events: `Accept: text/event-stream`.
    Each,
}

parameters!(Wait: limited(
    optional::<u64>("wait", "Seconds to wait for the next state; 0 by default").example(Some(30.into())),
    |schema| schema.maximum = Some(LONGEST.into()),
));

impl<S: Send + Sync> FromRequestParts<S> for Wait {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let wait = single(parts, "wait")?.map_or(Ok(0), |text| wait(&text))?;
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

fn wait(text: &str) -> Result<u64, ApiError> {
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
        for (text, expected) in [("0", 0), ("30", 30), ("60", 60)] {
            assert_eq!(wait(text).unwrap(), expected, "{text}");
        }
        for text in ["61", "-1", "", "1.5", "soon", "99999999999999999999"] {
            assert!(wait(text).is_err(), "{text}");
        }
    }
}
