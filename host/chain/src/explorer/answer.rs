//! What an explorer's answer says: rows, nothing, or no. It answers with status 200 and text in any of these cases, and
//! "0" is the status of an empty list as well as of an error, so that the type of `result` decides.

use serde::Deserialize;
use serde_json::Value;

/// Longest part of a refusal that is told on.
const TOLD: usize = 200;

/// Why there is no list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("explorer limits the rate of requests")]
    Rate,
    /// The key is wrong, or used up for longer than anybody waits.
    #[error("explorer denies access: {0}; check the key in chains.explorer")]
    Denied(String),
    #[error("explorer does not serve this chain: {0}; check the plan behind the key in chains.explorer")]
    NotThisChain(String),
    /// So many rows are more than it gives at once, or than it lets be counted through.
    #[error("explorer refuses a page this large")]
    TooLarge,
    #[error("explorer cannot be reached: {0}")]
    Unreachable(String),
    #[error("explorer answered wrongly: {0}")]
    Malformed(String),
    #[error("explorer refused: {0}")]
    Other(String),
}

impl Refusal {
    pub(super) fn is_worth_a_retry(&self) -> bool {
        matches!(self, Self::Rate | Self::Unreachable(_) | Self::Malformed(_))
    }

    /// The short name in metrics.
    pub(super) fn outcome(&self) -> &'static str {
        match self {
            Self::Rate => "rate_limited",
            Self::Denied(_) => "denied",
            Self::NotThisChain(_) => "not_this_chain",
            Self::TooLarge => "too_large",
            Self::Unreachable(_) => "unreachable",
            Self::Malformed(_) => "malformed",
            Self::Other(_) => "refused",
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    result: Value,
}

const LARGE: &[&str] = &["result window", "smaller result", "query timeout", "records per request", "offset"];
const CHAIN: &[&str] = &[
    "chainid",
    "chain id",
    "chain_id",
    "not supported for this chain",
    "unsupported chain",
    "chain not found",
    "upgrade your api plan",
];
const DENIED: &[&str] = &["api key", "apikey", "api_key", "daily", "unauthorized", "forbidden", "deprecated"];
const RATE: &[&str] = &["rate limit", "too many requests", "calls per sec", "max calls", "throttl", "limit reached"];
const NOTHING: &[&str] =
    &["no transactions found", "no token transfers found", "no records found", "no internal transactions found"];

/// The rows in the body of an answer, as they stand there.
///
/// # Errors
/// [`Refusal`] where it holds none.
pub(super) fn rows(body: &[u8]) -> Result<Vec<Value>, Refusal> {
    // What the body held instead is left out: it is written by others.
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|error| Refusal::Malformed(format!("no JSON of this API ({:?})", error.classify())))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let message = answer.message.as_ref().and_then(text).unwrap_or_default();
    match answer.result {
        Value::Array(rows) => Ok(rows),
        Value::Null | Value::String(_) => {
            let result = text(&answer.result).unwrap_or_default();
            let said = format!("{message} {result}").to_lowercase();
            let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
            let told = told(if result.is_empty() { &message } else { &result });
            // "Too many invalid api key attempts" and "max daily rate limit" are no matter of a moment.
            Err(match () {
                () if says(NOTHING) => return Ok(Vec::new()),
                () if says(LARGE) => Refusal::TooLarge,
                () if says(CHAIN) => Refusal::NotThisChain(told),
                () if says(DENIED) && (says(&["daily", "invalid"]) || !says(RATE)) => Refusal::Denied(told),
                () if says(RATE) => Refusal::Rate,
                () => Refusal::Other(told),
            })
        }
        _ => Err(Refusal::Malformed("the result is no list".into())),
    }
}

/// `text` fit for a log: one line, of bounded length.
fn told(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(TOLD).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: &str) -> Refusal {
        rows(format!(r#"{{"status":"0","message":"NOTOK","result":"{result}"}}"#).as_bytes()).unwrap_err()
    }

    #[test]
    fn an_empty_list_is_an_answer_and_a_text_is_none() {
        assert_eq!(rows(br#"{"status":"0","message":"No transactions found","result":[]}"#), Ok(vec![]));
        assert_eq!(rows(br#"{"status":"0","message":"No token transfers found","result":null}"#), Ok(vec![]));
        assert_eq!(rows(br#"{"status":"1","message":"OK","result":[1]}"#).unwrap().len(), 1);
        assert_eq!(rows(br#"{"status":"2","message":"still being indexed","result":[1]}"#).unwrap().len(), 1);
    }

    #[test]
    fn the_ways_of_saying_no() {
        for rate in [
            "Max rate limit reached, please use API Key for higher rate limit",
            "Max calls per sec rate limit reached (3/sec)",
        ] {
            assert_eq!(said(rate), Refusal::Rate, "{rate}");
        }
        for denied in [
            "Invalid API Key",
            "Missing/Invalid API Key",
            "Too many invalid api key attempts, please try again later",
            "Max daily rate limit reached",
        ] {
            assert!(matches!(said(denied), Refusal::Denied(_)), "{denied}");
        }
        for chain in [
            "Missing or unsupported chainid parameter (required for v2 api)",
            "Free API access is not supported for this chain. Please upgrade your api plan for full chain coverage",
        ] {
            assert!(matches!(said(chain), Refusal::NotThisChain(_)), "{chain}");
        }
        assert_eq!(
            said("Result window is too large, PageNo x Offset size must be less than or equal to 10000"),
            Refusal::TooLarge
        );
        assert_eq!(said("Error! Invalid address format"), Refusal::Other("Error! Invalid address format".into()));
        for body in ["<html>502</html>", r#"{"status":"1","result":[{"#, r#"{"status":"1","result":{}}"#] {
            assert!(matches!(rows(body.as_bytes()), Err(Refusal::Malformed(_))), "{body}");
        }
    }
}
