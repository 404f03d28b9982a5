//! Maps the errors of nodes and providers to faults. No standard distinguishes them, so the phrases in use do; an error
//! without a known phrase is a plain refusal.

use std::time::Duration;

use alloy::{
    rpc::json_rpc::{ErrorPayload, RpcError},
    transports::TransportError,
};

use crate::{fault::Fault, span::Span};

/// Phrases after which a provider states the widest span that it answers.
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

impl Fault {
    /// The fault that a JSON-RPC error means.
    pub fn from_payload(error: &ErrorPayload) -> Self {
        let data = error.data.as_ref().map(|data| data.get()).unwrap_or_default();
        classify(error.code, &error.message, data)
    }
}

impl From<TransportError> for Fault {
    fn from(error: TransportError) -> Self {
        match error {
            RpcError::ErrorResp(payload) => Self::from_payload(&payload),
            RpcError::Transport(kind) => match kind.as_custom().and_then(|inner| inner.downcast_ref::<Self>()) {
                Some(fault) => fault.clone(),
                None => Self::Malformed(kind.to_string()),
            },
            RpcError::NullResp => Self::Malformed("null".into()),
            RpcError::DeserError { err, .. } => Self::unreadable(&err),
            other => Self::Malformed(other.to_string()),
        }
    }
}

/// The fault that `message` and `data` of a JSON-RPC error mean. Density is checked before rate, because code -32005 is
/// used for both.
fn classify(code: i64, message: &str, data: &str) -> Fault {
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

/// The start of a provider's message, which may be long and may contain control characters.
fn short(message: &str) -> String {
    message.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// "more than 10000 logs"
fn more_than_logs(text: &str) -> bool {
    text.split("more than ")
        .skip(1)
        .any(|rest| number(rest).is_some() && rest.trim_start_matches(is_digit).trim_start().starts_with("logs"))
}

/// A span that the provider suggests instead of the refused one: `[0x1, 0xff]` or `1-255`.
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

/// The number at the start of `text`: `10000`, `10,000` or `10k`.
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
mod providers;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;
