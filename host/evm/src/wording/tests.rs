//! Messages that nodes and providers send, and the faults that they mean.

mod table;

use std::time::Duration;

use super::*;
use crate::{fault::Rejection, span::Span};

/// The fault of an error in an answer to a log query.
fn of_logs(code: i64, message: &str) -> Fault {
    of("eth_getLogs", code, message, None)
}

fn of(method: &str, code: i64, message: &str, data: Option<&str>) -> Fault {
    let data = data.map(|data| serde_json::value::RawValue::from_string(data.to_owned()).unwrap());
    Fault::of(method, &ErrorPayload { code, message: message.to_owned().into(), data })
}

fn said(message: &str) -> Fault {
    of_logs(-32000, message)
}

#[test]
fn a_query_that_has_to_name_a_contract_is_told_from_one_that_is_too_wide() {
    for message in [
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: \
         https://node.example/eth",
        "error deserializing parameter: missing field `address`",
        "missing address filter",
    ] {
        assert_eq!(of_logs(-32701, message), Fault::Unscoped, "{message}");
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
    let tenderly =
        of("eth_getLogs", -32602, "invalid params", Some("\"range 900000 is bigger than range limit 100000\""));
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
        assert_eq!(of_logs(-32005, message), Fault::TooDense { suggested }, "{message}");
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
        assert!(matches!(of_logs(-32005, message), Fault::RateLimited { .. }), "{message}");
    }
    let Fault::RateLimited { after, .. } = said("rate limited, try again in 4ms") else { panic!("no rate limit") };
    assert_eq!(after, Some(Duration::from_millis(4)));
    assert!(matches!(of_logs(429, "slow down"), Fault::RateLimited { .. }));
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
        assert_eq!(of("eth_getBalance", -32000, message, None), Fault::NoState, "{message}");
        assert_eq!(said(message), Fault::NoHistory, "{message}");
    }
    let later = "BlockOutOfRangeError: block height is 16 but requested was 17";
    assert_eq!(of("eth_getBalance", -32000, later, None), Fault::UnknownBlock);
    assert_eq!(of_logs(4444, "pruned"), Fault::NoHistory);
    assert_eq!(of("eth_getTransactionReceipt", 4444, "pruned", None), Fault::NoReceipt);
}

#[test]
fn a_revert_is_a_revert_whatever_reason_the_contract_chooses() {
    let reasons = ["rate limit exceeded", "too many requests", "header not found", "missing trie node", "unauthorized"];
    for reason in reasons {
        for (code, message, data) in [
            (3, format!("execution reverted: {reason}"), Some("\"0x08c379a0\"")),
            (3, reason.to_owned(), Some("\"0x08c379a0\"")),
            (-32000, format!("execution reverted: {reason}"), None),
            (-32015, "VM execution error.".to_owned(), Some("\"Reverted 0x08c379a0\"")),
            (-32603, format!("VM Exception while processing transaction: revert {reason}"), None),
            (-32000, format!("Execution reverted ({reason})"), None),
        ] {
            let fault = of("eth_call", code, &message, data);
            assert!(matches!(fault, Fault::Reverted { .. }), "{code} {message}: {fault:?}");
        }
    }
    for message in [
        "out of gas",
        "EVM error MemoryOOG",
        "EVM error: InvalidFEOpcode",
        "invalid opcode: INVALID",
        "stack underflow (0 <=> 1)",
    ] {
        assert!(matches!(of("eth_call", -32000, message, None), Fault::Reverted { .. }), "{message}");
    }
    assert_eq!(of("eth_call", 3, "Unknown block", None), Fault::UnknownBlock);
    // The letters of a failure, but not one of the contract.
    for message in ["see https://cloud.google.com/status", "EVM error: database is closed", "the node is rebooting"] {
        assert!(matches!(of("eth_call", -32000, message, None), Fault::Refused { .. }), "{message}");
    }
}

#[test]
fn a_phrase_within_another_word_says_nothing() {
    for message in ["it hiccups now", "unpruned node", "the integration timed out: forage limit", "separate limits"] {
        assert!(matches!(of("eth_getBalance", -32000, message, None), Fault::Refused { .. }), "{message}");
    }
    for message in ["unknown transaction type", "nonunderpriced", "unreplaced by better transaction"] {
        assert!(matches!(of("eth_sendRawTransaction", -32000, message, None), Fault::Refused { .. }), "{message}");
    }
    for message in ["ExecutionReverted", "ProviderError(ExecutionReverted: no)", "(revert)", "'revert'"] {
        assert!(matches!(of("eth_call", -32000, message, None), Fault::Reverted { .. }), "{message}");
    }
}

#[test]
fn a_call_never_denies_access() {
    assert!(matches!(of("eth_call", -32000, "unauthorized", None), Fault::Refused { .. }));
    assert!(matches!(of("eth_getBalance", -32000, "unauthorized", None), Fault::Denied(_)));
}

#[test]
fn anything_else_is_a_refusal() {
    for method in ["eth_getLogs", "eth_call", "eth_getBalance", "eth_sendRawTransaction", BATCH] {
        for (code, message) in [
            (-32603, "Internal error"),
            (-32602, "invalid params"),
            (19, "Temporary internal error. Please retry"),
            (-32000, "failed to get response from upstream"),
            (-32601, "the method does not exist"),
            (7, "words that nobody has heard"),
        ] {
            let fault = of(method, code, message, None);
            assert!(matches!(fault, Fault::Refused { .. }), "{method} {code} {message}: {fault:?}");
        }
    }
    let Fault::Refused { message, .. } = said(&"x".repeat(10_000)) else { panic!("no refusal") };
    assert_eq!(message.len(), 200);
}

#[test]
fn rejections_of_transactions_are_told_apart() {
    let said = |message: &str| match of("eth_sendRawTransaction", -32000, message, None) {
        Fault::Rejected { why, .. } => Some(why),
        Fault::Refused { .. } => None,
        fault => panic!("{message}: {fault:?}"),
    };
    for (message, why) in [
        ("already known", Some(Rejection::Known)),
        ("nonce too low: next nonce 5, tx nonce 4", Some(Rejection::NonceUsed)),
        ("replacement transaction underpriced", Some(Rejection::ReplacementUnderpriced)),
        ("transaction underpriced: gas tip cap 1", Some(Rejection::Underpriced)),
        ("max fee per gas less than block base fee: address 0x1", Some(Rejection::Underpriced)),
        ("Insufficient funds for gas * price + value", Some(Rejection::InsufficientFunds)),
        ("invalid sender", None),
        ("nonce too high", None),
        ("header not found", None),
    ] {
        assert_eq!(said(message), why, "{message}");
    }
}
