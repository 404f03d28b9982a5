//! What nodes and providers say when they refuse. No standard tells these apart, so the wordings in use do; one that is
//! not known is a plain refusal.

use std::time::Duration;

use crate::{fault::Fault, span::Span};

/// Phrases before which or after which a provider names the widest span it answers.
const WIDTH_AFTER: &[&str] = &[
    "exceeds limit of ",
    "up to a ",
    "limited to a ",
    "limited to ",
    "ranges over ",
    "maximum block range: ",
    "max block range ",
    "block range limit is ",
    "maximum is set to ",
    "max range: ",
    "at most ",
    "requested blocks is ",
    "max is ",
    "bigger than range limit ",
];
const WIDE: &[&str] =
    &["block range", "blocks range", "range is too", "range too", "too many blocks", "requested blocks", "block limit"];
const DENSE: &[&str] = &[
    "response size",
    "response too large",
    "response is too big",
    "query returned more than",
    "logs matched by query",
    "max results",
    "too many logs",
    "too many results",
    "query timeout",
    "query timed out",
    "no backend is currently healthy",
    "error decoding response body",
];
const RATE: &[&str] = &[
    "rate limit",
    "rate exceeded",
    "rate-limit",
    "too many requests",
    "request limit",
    "request count exceeded",
    "quota",
    "throttl",
    "compute units",
    "credits",
    "concurrent requests",
];
const NO_STATE: &[&str] = &[
    "missing trie node",
    "missingtrienode",
    "historical state",
    "state unavailable",
    "state is not available",
    "state not available",
    "no state available",
    "state already pruned",
    "is pruned",
    "due to pruning",
    "archive",
    "blockoutofrange",
];
const UNSCOPED: &[&str] = &[
    "specify an address",
    "missing field `address`",
    "missing address filter",
    "address filter is required",
    "address is required",
    "without an address",
];
const UNKNOWN_BLOCK: &[&str] =
    &["header not found", "unknown block", "block not found", "header for hash not found", "resource not found"];

/// What `message` and `data` of a JSON-RPC error mean. Density is told before rate: both have been given code -32005.
pub fn classify(code: i64, message: &str, data: &str) -> Fault {
    let text = format!("{message} {data}").to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| text.contains(phrase));
    if says(DENSE) || more_than_logs(&text) {
        return Fault::TooDense { suggested: suggested(&text) };
    }
    let rate = code == 429 || says(RATE);
    if !rate {
        let limit = WIDTH_AFTER.iter().find_map(|phrase| number(text.split_once(phrase)?.1)).filter(|limit| *limit > 0);
        let wide = says(WIDE) || (limit.is_some() && (text.contains("range") || text.contains("block")));
        if wide {
            return Fault::TooWide { limit };
        }
    }
    if rate {
        return Fault::RateLimited { message: short(message), after: try_again(&text) };
    }
    if says(UNSCOPED) {
        return Fault::Unscoped;
    }
    if says(NO_STATE) {
        return Fault::NoState;
    }
    if says(UNKNOWN_BLOCK) {
        return Fault::UnknownBlock;
    }
    if text.trim() == "limit exceeded" || code == -32005 {
        return Fault::TooDense { suggested: suggested(&text) };
    }
    Fault::Refused { code, message: short(message) }
}

/// Enough of a provider's text to recognise it by. It is written by others and may be long.
fn short(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// "more than 10000 logs"
fn more_than_logs(text: &str) -> bool {
    text.split("more than ")
        .skip(1)
        .any(|rest| number(rest).is_some() && rest.trim_start_matches(is_digit).trim_start().starts_with("logs"))
}

/// A span offered in place of the one refused: `[0x1, 0xff]` or `1-255`.
fn suggested(text: &str) -> Option<Span> {
    let pair = |from: &str, to: &str| {
        let (from, to) = (block(from)?, block(to)?);
        (from <= to).then_some(Span { from, to })
    };
    if let Some((_, rest)) = text.split_once('[')
        && let Some((inside, _)) = rest.split_once(']')
        && let Some((from, to)) = inside.split_once(',')
        && let Some(span) = pair(from, to)
    {
        return Some(span);
    }
    let (_, rest) = text.split_once("the range ")?;
    let (from, rest) = rest.split_once('-')?;
    pair(from, rest.split(|c: char| !c.is_ascii_alphanumeric()).next()?)
}

fn block(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, ',' | '_')
}

/// The number that `text` begins with: `10000`, `10,000` or `10k`.
fn number(text: &str) -> Option<u64> {
    let rest = text.trim_start_matches(is_digit);
    let digits: String = text.get(..text.len() - rest.len())?.chars().filter(char::is_ascii_digit).collect();
    let value: u64 = digits.parse().ok()?;
    if rest.starts_with('k') { value.checked_mul(1_000) } else { Some(value) }
}

/// "try again in 4ms", "try again in 1s"
fn try_again(text: &str) -> Option<Duration> {
    let rest = text.split_once("try again in ")?.1;
    let value = number(rest)?;
    let unit = rest.trim_start_matches(is_digit).trim_start();
    if unit.starts_with("ms") {
        Some(Duration::from_millis(value))
    } else if unit.starts_with('s') {
        Some(Duration::from_secs(value))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(message: &str) -> Fault {
        classify(-32000, message, "")
    }

    #[test]
    fn a_query_that_has_to_name_a_contract_is_told_from_one_that_is_too_wide() {
        for message in [
            "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: https://node.example/eth",
            "error deserializing parameter: missing field `address`",
            "missing address filter",
        ] {
            assert_eq!(classify(-32701, message, ""), Fault::Unscoped, "{message}");
        }
        assert_eq!(
            said("block range of queries without an address is limited to 10 blocks"),
            Fault::TooWide { limit: Some(10) }
        );
    }

    #[test]
    fn a_named_width_is_understood() {
        for (message, limit) in [
            ("You can make eth_getLogs requests with up to a 10 block range", Some(10)),
            ("range 1000000 exceeds limit of 10000", Some(10_000)),
            ("eth_getLogs is limited to a 10,000 range", Some(10_000)),
            ("eth_getLogs is limited to 1024 block", Some(1_024)),
            ("eth_getLogs is limited to a 2000 blocks range", Some(2_000)),
            ("block range is too wide", None),
            ("ranges over 10000 blocks are not supported on freetier", Some(10_000)),
            ("maximum block range: 50000", Some(50_000)),
            ("block range too large", None),
            ("Block range is too large", None),
            ("requested too many blocks from 1 to 5000, maximum is set to 2048", Some(2_048)),
            ("Max range: 800", Some(800)),
            ("Block range limit exceeded.", None),
            ("please limit the query to at most 1000 blocks", Some(1_000)),
            ("Maximum allowed number of requested blocks is 3500", Some(3_500)),
            ("max is 10k blocks", Some(10_000)),
            ("max is 1k blocks", Some(1_000)),
        ] {
            assert_eq!(said(message), Fault::TooWide { limit }, "{message}");
        }
        let tenderly = classify(-32602, "invalid params", "\"range 900000 is bigger than range limit 100000\"");
        assert_eq!(tenderly, Fault::TooWide { limit: Some(100_000) });
    }

    #[test]
    fn a_dense_range_is_told_from_a_wide_one() {
        let span = |from, to| Some(Span { from, to });
        for (message, suggested) in [
            (
                "Log response size exceeded. Based on your parameters, this block range should work: [0x10, 0xff]",
                span(16, 255),
            ),
            ("query returned more than 10000 results. Try with this block range [0x1, 0x2].", span(1, 2)),
            ("query exceeds max results 20000, retry with the range 100-250", span(100, 250)),
            ("logs matched by query exceeds limit of 10000", None),
            ("backend response too large", None),
            ("response size should not greater than 10000000 bytes", None),
            ("the query has more than 10000 logs", None),
            ("too many logs", None),
            ("no backend is currently healthy to serve traffic", None),
        ] {
            assert_eq!(classify(-32005, message, ""), Fault::TooDense { suggested }, "{message}");
        }
    }

    #[test]
    fn a_rate_limit_is_neither() {
        for message in [
            "100/second request limit reached - reduce calls per second",
            "rate limited, try again in 4ms",
            "Too Many Requests",
            "daily request count exceeded, request rate limited",
            "Your app has exceeded its compute units per second capacity",
            "credits limited to 6000/sec",
            "project quota reached",
            "request throttled",
        ] {
            assert!(matches!(classify(-32005, message, ""), Fault::RateLimited { .. }), "{message}");
        }
        let Fault::RateLimited { after, .. } = said("rate limited, try again in 4ms") else { panic!("no rate limit") };
        assert_eq!(after, Some(Duration::from_millis(4)));
        assert!(matches!(classify(429, "slow down", ""), Fault::RateLimited { .. }));
    }

    #[test]
    fn missing_state_asks_for_an_archive() {
        for message in [
            "missing trie node 1234 (path )",
            "required historical state unavailable (reexec=128)",
            "Nethermind.Trie.MissingTrieNodeException",
            "state at block #5 is pruned",
            "BlockOutOfRangeError: block height is 12288 but requested was 16",
        ] {
            assert_eq!(said(message), Fault::NoState, "{message}");
        }
    }

    #[test]
    fn anything_else_is_a_refusal() {
        assert!(matches!(said("execution reverted"), Fault::Refused { .. }));
        assert!(matches!(said("the method eth_getLogs does not exist"), Fault::Refused { .. }));
        let Fault::Refused { message, .. } = said(&"x".repeat(10_000)) else { panic!("no refusal") };
        assert_eq!(message.len(), 200);
    }
}
