//! `{agent_id}` of a path: an integer, 1 or more.

use axum::{extract::FromRequestParts, http::request::Parts};

use crate::no_agent;
use assay_http::{
    ApiError, Location, Violation,
    extract::{in_path, limited, param},
    parameters,
};

/// The token id of an agent.
pub struct AgentPath(pub u64);

parameters!(AgentPath: limited(
    in_path::<u64>("agent_id", "Token id in the Identity Registry", 1),
    |schema| schema.minimum = Some(1.into()),
));

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        param(parts, state, "agent_id", id).await.unwrap_or_else(|| id("")).map(Self)
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
    digits.parse().map_err(|_| no_agent(digits))
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
