//! `{agent_id}` of a path: an integer, 1 or more.

use axum::{
    extract::{FromRequestParts, RawPathParams},
    http::request::Parts,
};

use super::parameter::{in_path, limited, parameters};
use crate::{
    ApiError, App,
    validation::{Location, Violation},
};

/// The token id of an agent.
pub(crate) struct AgentPath(pub u64);

parameters!(AgentPath: limited(
    in_path::<u64>("agent_id", "Token id in the Identity Registry", 1),
    |schema| schema.minimum = Some(1.into()),
));

impl FromRequestParts<App> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let params = RawPathParams::from_request_parts(parts, app).await.ok();
        let text = params
            .as_ref()
            .and_then(|params| params.iter().find(|(key, _)| *key == "agent_id"))
            .map(|(_, value)| value);
        id(text.unwrap_or_default()).map(Self)
    }
}

fn id(text: &str) -> Result<u64, ApiError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(ApiError::invalid(vec![Violation::not_an_integer(Location::Path, "agent_id")]));
    }
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() || text.starts_with('-') {
        return Err(ApiError::invalid(vec![Violation::below_one(Location::Path, "agent_id")]));
    }
    // No registry has ids this large.
    digits.parse().map_err(|_| ApiError::no_agent(digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_integers_from_one_on() {
        let shown = |text: &str| id(text).map_err(|error| format!("{error:?}"));
        assert_eq!((shown("1"), shown("007"), shown("18446744073709551615")), (Ok(1), Ok(7), Ok(u64::MAX)));
        for (text, why) in [
            ("0", "greater_than_equal"),
            ("-0", "greater_than_equal"),
            ("-5", "greater_than_equal"),
            ("", "int_parsing"),
            ("+1", "int_parsing"),
            ("1.0", "int_parsing"),
            ("one", "int_parsing"),
            ("\u{ff11}", "int_parsing"),
            ("18446744073709551616", "Agent 18446744073709551616 does not exist"),
        ] {
            let error = shown(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
