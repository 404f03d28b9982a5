//! Messages that nodes and providers send, and the faults that they mean.

use super::*;

fn said(message: &str) -> Fault {
    classify(-32000, message, "")
}

#[test]
fn a_query_that_has_to_name_a_contract_is_told_from_one_that_is_too_wide() {
    for message in [
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: \
         https://node.example/eth",
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
