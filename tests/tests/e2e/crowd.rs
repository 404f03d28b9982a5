//! Many concurrent requests to a new server: every answer is right, and memory and calls to the chains stay within
//! bounds.

use alloy::primitives::{Address, keccak256};
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use assay_tests::service::{Caller, KEY, Service, plugins};
use assay_tests::until::until;
use futures::future::join_all;
use serde_json::Value;

use super::{devnet, run};

/// Distinct addresses.
const ADDRESSES: usize = 1_000;
/// The most resident memory that all of them may add: a quarter of a MiB each, with some that is free and that the
/// allocator has not yet returned.
const ROOM: u64 = ADDRESSES as u64 * (256 << 10);
/// The most resident memory that endless responses may add: three times the server's limit for large and very large
/// responses, because an allocator returns memory late on a busy machine, plus the other memory of a read.
const ENDLESS: u64 = 3 * (64 << 20) + (24 << 20);
/// The most calls to a chain in a first read of an address, with the searches for its first and last transaction.
const CALLS: usize = 60;

/// A server that reads both chains through proxies.
async fn watched() -> (Service, Vec<Proxy>) {
    let mut config =
        devnet().await.config_toml("127.0.0.1:0", &plugins(), std::path::Path::new("{dir}/assay.redb"), KEY);
    let mut proxies = Vec::new();
    for chain in devnet().await.chains() {
        let proxy = Proxy::start(chain.url()).await;
        config = config.replace(chain.url(), &proxy.url);
        proxies.push(proxy);
    }
    // Limits so high that no request gets a partial answer: the test measures the whole work.
    (
        Service::start(&format!(
            "{config}\n[http]\nrequest_timeout_ms = 55000\nmax_requests = 100000\nmax_connections_per_address = \
             0\n[scoring]\nread_budget_ms = 25000\nincomplete_cache_ms = 1\n"
        )),
        proxies,
    )
}

/// Scores and reports in turn.
fn path(index: usize, address: Address) -> String {
    let kind = if index.is_multiple_of(2) { "report" } else { "score" };
    format!("/api/v2/{kind}/address/{address}")
}

/// Status and body, without the reading time and the cache flag.
async fn asked(api: &Caller, path: &str) -> (u16, Value) {
    let answer = api.get(path).await;
    let mut body = answer.json();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("timestamp");
        fields.remove("cached");
    }
    (answer.status.as_u16(), body)
}

/// Whether an answer is final: neither provisional nor an error.
fn is_whole((status, body): &(u16, Value)) -> bool {
    let coverage = body.pointer("/credit_events/coverage").or_else(|| body.get("credit_events_coverage"));
    !matches!(status, 502..=504) && coverage.is_none_or(|coverage| coverage == "complete")
}

#[test]
fn a_thousand_different_addresses_at_once_are_all_answered_right() {
    run(async {
        let (service, proxies) = watched().await;
        let wallets = &devnet().await.wallets;
        let fresh = |n: usize| Address::from_word(keccak256(format!("nobody {n}")));
        let address = |n: usize| {
            if n.is_multiple_of(28) { wallets.get(n / 28).map_or_else(|| fresh(n), |w| w.address) } else { fresh(n) }
        };
        let paths: Vec<String> = (0..ADDRESSES).map(|n| path(n + n / 28, address(n))).collect();
        let api = service.keyed();
        api.get(&path(0, assay_tests::devnet::actors::address("saver"))).await.ok();
        proxies.iter().for_each(|proxy| drop(proxy.take()));
        let before = service.resident();
        let crowd = join_all(paths.iter().map(|path| asked(&api, path))).await;
        let (after, peak) = (service.resident(), service.peak());
        let calls: Vec<usize> = proxies.iter().map(|proxy| proxy.take().len()).collect();
        println!(
            "{ADDRESSES} addresses: resident {} MiB before, {} after, {} at most; {calls:?} calls",
            before >> 20,
            after >> 20,
            peak >> 20
        );
        assert!(peak < before + ROOM, "{} MiB before, {} MiB at most", before >> 20, peak >> 20);
        assert!(calls.iter().all(|calls| *calls <= ADDRESSES * CALLS), "{calls:?}");

        // The chains respond all the time, so no answer is a 5xx. An answer that was not ready in time is provisional,
        // and is complete in a later request.
        for (path, (status, body)) in paths.iter().zip(&crowd) {
            assert!(*status < 500, "{path}: {status} {body}");
        }
        let mut settled = Vec::new();
        let mut late = 0;
        for (path, first) in paths.iter().zip(crowd) {
            late += usize::from(!is_whole(&first));
            settled.push(if is_whole(&first) {
                first
            } else {
                until(async || asked(&api, path).await, is_whole).await
            });
        }
        println!("{late} of them were not ready at first and said so");
        let crowd = settled;
        // One request after another, to a server with an empty cache.
        let (calm, _proxies) = watched().await;
        let api = calm.keyed();
        for (path, crowded) in
            paths.iter().zip(&crowd).filter(|(path, _)| wallets.iter().any(|w| path.ends_with(&w.address.to_string())))
        {
            assert_eq!(*crowded, asked(&api, path).await, "{path}");
        }
        let known = crowd.iter().filter(|(status, _)| *status == 200).count();
        for (path, (status, body)) in paths.iter().zip(&crowd) {
            if path.contains("/report/") {
                assert_eq!((*status, &body["credit_events"]["coverage"]), (200, &Value::from("complete")), "{path}");
            } else {
                assert!(matches!(status, 200 | 404), "{path}: {status} {body}");
            }
        }
        assert!(known >= ADDRESSES / 2, "{known}");
    });
}

#[test]
fn two_hundred_first_requests_for_one_address_cost_one_read() {
    run(async {
        let (service, proxies) = watched().await;
        let api = service.keyed();
        api.get(&path(0, assay_tests::devnet::actors::address("saver"))).await.ok();
        proxies.iter().for_each(|proxy| drop(proxy.take()));
        let borrower = assay_tests::devnet::actors::address("borrower");
        let paths: Vec<String> = (0..200).map(|n| path(n, borrower)).collect();
        let answers = join_all(paths.iter().map(|path| asked(&api, path))).await;
        for (n, answer) in answers.iter().enumerate() {
            assert_eq!((answer.0, answer), (200, &answers[n % 2]));
        }
        for proxy in &proxies {
            let logs = proxy.take().iter().filter(|call| call.method == "eth_getLogs").count();
            assert_eq!(logs, 3, "one read is three queries");
        }
    });
}

#[test]
fn an_answer_that_never_ends_fills_no_memory() {
    run(async {
        let (service, proxies) = watched().await;
        let api = service.keyed();
        api.get(&path(0, assay_tests::devnet::actors::address("saver"))).await.ok();
        let before = service.resident();
        let endless =
            |call: &Call| if call.method == "eth_getLogs" { Reply::Spoil(Fault::Endless) } else { Reply::Pass };
        proxies.iter().for_each(|proxy| proxy.rule(endless));
        let (status, body) = asked(&api, &path(0, assay_tests::devnet::actors::address("borrower"))).await;
        let peak = service.peak();
        println!("endless logs: resident {} MiB before, {} at most", before >> 20, peak >> 20);
        assert_eq!(status, 200, "{body}");
        assert_ne!(body["credit_events"]["coverage"], "complete");
        assert!(peak < before + ENDLESS, "{} MiB before, {} MiB at most", before >> 20, peak >> 20);
    });
}
