//! An explorer's response: rows, an empty list, or a refusal. The HTTP status is 200 in all cases, and the status "0"
//! in the body means an empty list as well as an error, so the type of `result` decides.

use serde::Deserialize;
use serde_json::Value;

use super::ExplorerRefusal;
use assay_domain::display_text;

/// Maximum length of an explorer's message in the log, in characters.
const MAX_MESSAGE: usize = 200;

#[derive(Deserialize)]
struct ExplorerAnswer {
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
const NOTHING: &[&str] = &[
    "no transactions found",
    "no token transfers found",
    "no records found",
    "no internal transactions found",
    "no logs found",
];

/// The rows in the body of a response, unparsed.
///
/// # Errors
/// [`ExplorerRefusal`] if the body has no list.
pub(super) fn rows(body: &[u8]) -> Result<Vec<Value>, ExplorerRefusal> {
    // The error omits the body, which is not trusted.
    let answer: ExplorerAnswer = serde_json::from_slice(body)
        .map_err(|error| ExplorerRefusal::Malformed(format!("no JSON of this API ({:?})", error.classify())))?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let message = answer.message.as_ref().and_then(text).unwrap_or_default();
    match answer.result {
        Value::Array(rows) => Ok(rows),
        Value::Null | Value::String(_) => {
            let result = text(&answer.result).unwrap_or_default();
            let said = format!("{message} {result}").to_lowercase();
            let says = |phrases: &[&str]| phrases.iter().any(|phrase| said.contains(phrase));
            let message = display_text(if result.is_empty() { &message } else { &result }, MAX_MESSAGE);
            // "Too many invalid api key attempts" and "max daily rate limit" do not pass within seconds.
            Err(match () {
                () if says(NOTHING) => return Ok(Vec::new()),
                () if says(LARGE) => ExplorerRefusal::TooLarge,
                () if says(CHAIN) => ExplorerRefusal::NotThisChain(message),
                () if says(DENIED) && (says(&["daily", "invalid"]) || !says(RATE)) => ExplorerRefusal::Denied(message),
                () if says(RATE) => ExplorerRefusal::Rate,
                () => ExplorerRefusal::Other(message),
            })
        }
        _ => Err(ExplorerRefusal::Malformed("the result is no list".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(result: &str) -> ExplorerRefusal {
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
            assert_eq!(said(rate), ExplorerRefusal::Rate, "{rate}");
        }
        for denied in [
            "Invalid API Key",
            "Missing/Invalid API Key",
            "Too many invalid api key attempts, please try again later",
            "Max daily rate limit reached",
        ] {
            assert!(matches!(said(denied), ExplorerRefusal::Denied(_)), "{denied}");
        }
        for chain in [
            "Missing or unsupported chainid parameter (required for v2 api)",
            "Free API access is not supported for this chain. Please upgrade your api plan for full chain coverage",
        ] {
            assert!(matches!(said(chain), ExplorerRefusal::NotThisChain(_)), "{chain}");
        }
        assert_eq!(
            said("Result window is too large, PageNo x Offset size must be less than or equal to 10000"),
            ExplorerRefusal::TooLarge
        );
        assert_eq!(
            said("Error! Invalid address format"),
            ExplorerRefusal::Other("Error! Invalid address format".into())
        );
        for body in ["<html>502</html>", r#"{"status":"1","result":[{"#, r#"{"status":"1","result":{}}"#] {
            assert!(matches!(rows(body.as_bytes()), Err(ExplorerRefusal::Malformed(_))), "{body}");
        }
    }
}
