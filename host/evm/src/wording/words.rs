//! The words that nodes and providers use, as signs of what is wrong. Text is compared in lower case.

use std::time::Duration;

use crate::span::Span;

/// What the words of an error say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// Too many requests; `after` is the pause that the endpoint requests.
    Rate { after: Option<Duration> },
    /// Wrong or missing credential, or a plan without this request.
    Denied,
    /// Too many calls in one batch, and the number that is accepted.
    Calls { most: Option<usize> },
    /// Too many blocks in a log query, and the number that is accepted.
    Wide { limit: Option<u64> },
    /// The answer is too large, and a span whose answer is not.
    Large { suggested: Option<Span> },
    /// The endpoint gave up in the middle.
    Slow,
    /// A limit of unknown kind.
    Limit,
    /// A log query must name a contract.
    Unscoped,
    /// The endpoint does not have the block yet.
    Ahead,
    /// The endpoint no longer has the state or the history of an old block.
    Pruned,
    /// No known words.
    None,
}

/// Phrases after which a provider states the widest span that it answers.
const WIDTH_AFTER: &[&str] = &[
    "exceeds limit of ",
    "up to a ",
    "limited to 0 - ",
    "limited to a ",
    "limited to ",
    "ranges over ",
    "maximum block range: ",
    "max block range: ",
    "max block range ",
    "max block range of ",
    "max block range is ",
    "max block range = ",
    "maximum block range ",
    "exceeds maximum of ",
    "narrow your filter: ",
    "max: ",
    " > ",
    "block range limit is ",
    "block range exceeds ",
    "block range greater than ",
    "the limit is ",
    "maximum is set to ",
    "maximum allowed is ",
    "(maximum ",
    "max range: ",
    "blocks distance: ",
    "smaller than size ",
    "at most ",
    "requested blocks is ",
    "max is ",
    "bigger than range limit ",
    "but only ",
    "query more than ",
    "requested more than ",
    "exceeds the limit of ",
    "of rounds in logs query is: ",
];
const WIDE: &[&str] = &[
    "block range",
    "blocks range",
    "range is too",
    "range too",
    "range limit",
    "range threshold",
    "too many blocks",
    "requested blocks",
    "block limit",
    "blocks distance",
    "smaller than size",
    "range allowed",
    "allowed range",
    "rounds in logs",
];
const LARGE: &[&str] = &[
    "response size",
    "response too large",
    "response is too big",
    "response is too large",
    "result too large",
    "result set too large",
    "query returned more than",
    "logs matched by query",
    "max results",
    "too many logs",
    "too many results",
    "no backend is currently healthy",
    "error decoding response body",
    "too many events",
    "log count limit",
    "logs count limit",
    "logcount",
    "set is too large",
];
const SLOW: &[&str] = &["timeout", "timed out", "time out", "deadline exceeded", "took too long", "execution aborted"];
const RATE: &[&str] = &[
    "rate limit",
    "rate exceeded",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "too many request",
    "request limit",
    "requests limit",
    "requests per",
    "rps limit",
    "request count exceeded",
    "quota",
    "throttl",
    "compute units",
    "capacity limit",
    "over capacity",
    "credits",
    "concurrent requests",
    "cu limit",
    "cups",
    "usage limit",
    "call limit",
    "ru balance",
    "qps limit",
    "queue limit",
    "overloaded",
    "too busy",
    "saturated",
    "just a moment",
    "rabbit hole",
    "code: 1015",
];
const PRUNED: &[&str] = &[
    "missing trie node",
    "missingtrienode",
    "historical state",
    "historical rpc",
    "state unavailable",
    "state is not available",
    "state not available",
    "state not found",
    "no state available",
    "pruned",
    "pruning",
    "purged",
    "already discarded",
    "old data not available",
    "not available due to",
    "older than",
    "maximum proof window",
    "base height",
    "empty reader set",
    "does not exist on height",
    "ancient block",
    "missing receipts",
    "receipt not available",
    "earliest available",
    "available state is",
    "no state found",
    "no longer available",
    "max lookback",
    "is too old",
    "before the oldest",
    "data before",
    "required data unavailable",
    "classic node",
];
/// Words of plans without old state, which are also among the words of rate limits.
const ARCHIVE: &[&str] = &["archive", "archival"];
const UNSCOPED: &[&str] = &[
    "specify an address",
    "missing field `address`",
    "missing address filter",
    "address filter is required",
    "address is required",
    "without an address",
];
/// Words about a block that is to come, which may also say that something is not available.
const YET: &[&str] = &[
    "executed yet",
    "processed yet",
    "exist yet",
    "after last accepted",
    "after latest available",
    "beyond current head",
    "future epoch",
    "head block:",
];
const AHEAD: &[&str] = &[
    "header not found",
    "unknown block",
    "block not found",
    "header for hash not found",
    "resource not found",
    "beyond head",
    "beyond the head",
    "unfinalized data",
    "not currently canonical",
    "cannot be found",
    "could not find block",
    "block is out of range",
    "invalid block range params",
    "invalid block number params",
    "record not found",
    "future block",
    "in the future",
    "greater than latest",
    "greater than the latest",
    "not yet available",
    "block unavailable",
    "header is not found",
    "could not be found",
    "invalid block tag",
    "cannot find block",
    "failed to find tipset",
];
const DENIED: &[&str] = &[
    "unauthorized",
    "unauthorised",
    "api key",
    "apikey",
    "api-key",
    "authenticat",
    "access denied",
    "forbidden",
    "token is invalid",
    "invalid token",
    "project id",
];
const CALLS: &[&str] = &["batch", "calls in", "request body too large", "request entity too large"];
const CALLS_AFTER: &[&str] =
    &["limit of ", "limited to ", "limit is ", "limit ", "maximum ", "max ", "at most ", "exceeds "];

/// Words by which nodes report a call that ran and failed. The first four mean that the contract reverted; the others
/// that it ran out of gas, or ran into an instruction that fails.
const FAILED: &[&str] = &[
    "revert",
    "executionrevert",
    "vm execution error",
    "vm exception",
    "out of gas",
    "outofgas",
    "memoryoog",
    "memorylimitoog",
    "precompileoog",
    "invalidoperandoog",
    "reentrancysentryoog",
    "gas required exceeds",
    "invalid opcode",
    "opcodenotfound",
    "invalidfeopcode",
    "opcode not found",
    "bad instruction",
    "badinstruction",
    "undefined instruction",
    "invalid instruction",
    "stack underflow",
    "stackunderflow",
    "stack overflow",
    "stackoverflow",
    "stack limit reached",
    "invalid jump",
    "invalidjump",
    "bad jump",
    "badjump",
    "write protection",
    "static state change",
    "statechangeduringstaticcall",
    "return data out of bounds",
    "outofoffset",
    "gas uint64 overflow",
    "max call depth",
    "out of counters",
    "due to an exception",
    "internal evm call",
];

/// Whether the words report a call that ran and failed.
pub(super) fn has_failed(text: &str) -> bool {
    // The other errors of this name are of the node's database.
    says(text, FAILED) || (says(text, &["evm error"]) && !text.contains("database"))
}

/// Whether `text` has one of `phrases` at the beginning of a word: "unknown transaction" does not say "known
/// transaction". A phrase may end within a word, so that "throttl" is also in "throttled".
pub(super) fn says(text: &str, phrases: &[&str]) -> bool {
    let begins_a_word = |at| !text.get(..at).unwrap_or_default().ends_with(char::is_alphanumeric);
    phrases.iter().any(|phrase| text.match_indices(phrase).any(|(at, _)| begins_a_word(at)))
}

impl Sign {
    /// The sign in the `text` of an error with this code. What a node does not have is checked before sizes and ranges,
    /// because its words name ranges too; sizes before rates, because -32005 is used for both.
    pub(super) fn of(code: i64, text: &str) -> Self {
        // Nethermind uses the second for too many requests at a time.
        if matches!(code, 429 | -32_017) {
            return Self::Rate { after: try_again(text) };
        }
        if let Some(is_ahead) = out_of_range(text) {
            return if is_ahead { Self::Ahead } else { Self::Pruned };
        }
        if says(text, YET) {
            return Self::Ahead;
        }
        if code == 4444 || says(text, PRUNED) || (says(text, &["state "]) && text.contains("not available")) {
            return Self::Pruned;
        }
        if says(text, AHEAD) {
            return Self::Ahead;
        }
        if says(text, LARGE) || more_than_logs(text) {
            return Self::Large { suggested: suggested(text) };
        }
        // A batch may be limited in its rate, too.
        if says(text, &["batch"]) && !says(text, &["rate"]) {
            return Self::Calls { most: calls(text) };
        }
        if says(text, RATE) {
            return Self::Rate { after: try_again(text) };
        }
        if says(text, ARCHIVE) {
            return Self::Pruned;
        }
        let named = |phrase: &&str| number(text.split_once(*phrase)?.1).filter(|limit| *limit > 0);
        let limit = WIDTH_AFTER.iter().find_map(named);
        if says(text, WIDE) || (limit.is_some() && says(text, &["range", "block"])) {
            return Self::Wide { limit };
        }
        if says(text, CALLS) {
            return Self::Calls { most: calls(text) };
        }
        if says(text, SLOW) {
            return Self::Slow;
        }
        if says(text, UNSCOPED) {
            return Self::Unscoped;
        }
        if says(text, DENIED) {
            return Self::Denied;
        }
        if text.trim() == "limit exceeded" || code == -32005 { Self::Limit } else { Self::None }
    }
}

/// The number of calls that an endpoint accepts.
fn calls(text: &str) -> Option<usize> {
    let named = CALLS_AFTER.iter().find_map(|phrase| number(text.split_once(phrase)?.1));
    named.and_then(|most| usize::try_from(most).ok()).filter(|most| *most > 0)
}

/// "BlockOutOfRangeError: block height is 123 but requested was 456": whether the requested block is the later one.
fn out_of_range(text: &str) -> Option<bool> {
    let (_, rest) = text.split_once("block height is ")?;
    let (_, requested) = rest.split_once("requested was ")?;
    Some(number(requested)? > number(rest)?)
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
