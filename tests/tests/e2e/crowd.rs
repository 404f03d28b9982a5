//! Many who ask at once, of a server that never saw them: every answer is right, and neither memory nor what the chains
//! are asked grows beyond bounds.

use std::time::Duration;

use alloy::primitives::{Address, keccak256};
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use assay_tests::service::{Caller, KEY, Service, plugins};
use futures::future::join_all;
use serde_json::Value;

use super::{devnet, run};

/// Different addresses.
const ADDRESSES: usize = 1_000;
/// Resident memory that all of them may add.
const ROOM: u64 = 200 << 20;
/// Resident memory that answers without an end may take: three times what the server has room for among the large and
/// the largest, because an allocator gives back late, the later the busier the machine, and what a read takes besides.
const ENDLESS: u64 = 3 * (64 << 20) + (24 << 20);
/// Calls to a chain that a first read of an address may take, searches for its first and last transaction included.
const CALLS: usize = 60;
const PATIENCE: Duration = Duration::from_secs(60);

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
    // Nobody of a crowd is turned away with a part: what is measured is the whole of the work.
    (
        Service::start(&format!(
            "{config}\n[http]\nmax_requests = 100000\nmax_connections_per_address = 0\n[scoring]\nread_budget_ms = 25000\nincomplete_cache_ms = 1\n"
        )),
        proxies,
    )
}

/// Scores and reports in turn.
fn path(index: usize, address: Address) -> String {
    let kind = if index.is_multiple_of(2) { "report" } else { "score" };
    format!("/api/v2/{kind}/address/{address}")
}

/// Status and body, without when it was read and whether it was kept.
async fn asked(api: &Caller, path: &str) -> (u16, Value) {
    let answer = api.get(path).await;
    let mut body = answer.json();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("timestamp");
        fields.remove("cached");
    }
    (answer.status.as_u16(), body)
}

/// Whether an answer claims to be all there is: neither provisional nor an apology.
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

        // The chains are up all the time, so that nobody is told otherwise. What was not ready in time says so, and is
        // whole when it is asked for again.
        for (path, (status, body)) in paths.iter().zip(&crowd) {
            assert!(*status < 500, "{path}: {status} {body}");
        }
        let mut settled = Vec::new();
        let mut late = 0;
        for (path, first) in paths.iter().zip(crowd) {
            let mut answer = first;
            late += usize::from(!is_whole(&answer));
            let whole = async {
                while !is_whole(&answer) {
                    answer = asked(&api, path).await;
                }
            };
            tokio::time::timeout(PATIENCE, whole).await.unwrap_or_else(|_| panic!("{path} stays incomplete"));
            settled.push(answer);
        }
        println!("{late} of them were not ready at first and said so");
        let crowd = settled;
        // One after another, from a server that heard of none of them.
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
