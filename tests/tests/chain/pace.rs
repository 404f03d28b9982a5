//! Endpoints that limit the rate, and endpoints that rest after a failure.

use std::time::{Duration, Instant};

use assay::config::Config;
use assay_domain::{Coverage, Secret};
use assay_evm::config::Endpoints;
use assay_evm::{Client, endpoint};
use assay_tests::devnet::{Devnet, ETHEREUM};
use assay_tests::proxy::{
    Call, Proxy, Reply,
    distant::{Counted, Distant, Limit, Manner, Meter, Node},
};
use assay_tests::until::until;
use futures::future::{join_all, try_join_all};
use futures::poll;
use tokio::time::timeout;

use super::{PATIENCE, Reader, with};

fn patient(config: &mut Config) {
    config.scoring.read_budget = 2 * PATIENCE;
}

fn uncached(config: &mut Config) {
    config.scoring.cache_ttl = Duration::ZERO;
    config.scoring.incomplete_cache_ttl = Duration::ZERO;
}

const fn ten(counted: Counted, retry_after: Option<u64>) -> Limit {
    Limit { counted, per_second: 10, retry_after }
}

async fn limited(devnet: &Devnet, limit: Limit, meter: &Meter) -> Distant {
    Distant::start(Node::new(devnet.ethereum.url()), Manner { limit: Some(limit), ..Manner::spread(1) }, meter).await
}

/// Asserts that so many wallets, read at once through an endpoint with this limit, are read as without it, and that it
/// refuses at most a tenth of the requests, beside those that were on their way when it first refused, and is then kept
/// to.
async fn keeps_to(devnet: &Devnet, limit: Limit, wallets: usize) {
    let meter = Meter::default();
    let endpoint = limited(devnet, limit, &meter).await;
    let there = vec![Secret::new(&endpoint.url)];
    let reader =
        Reader::of(devnet).ethereum().with(patient).with(|config| config.chains[0].rpc = there).started().await;
    let free = Reader::of(devnet).ethereum().started().await;
    let reads = devnet.wallets.iter().take(wallets).map(async |wallet| {
        let (read, whole) = (reader.read(wallet.address).await, free.read(wallet.address).await);
        assert_eq!(read.coverage(), Coverage::Complete, "{} at {limit:?}", wallet.name);
        assert_eq!(read.chains, whole.chains, "{} at {limit:?}", wallet.name);
    });
    join_all(reads).await;
    let traffic = meter.take();
    assert!((traffic.refused - traffic.unforeseen) * 10 <= traffic.requests, "{traffic:?} at {limit:?}");
    // A machine that sends more slowly than the limit is never refused.
    assert_eq!(reader.chains().client(ETHEREUM).unwrap().is_paced(), traffic.refused > 0, "{traffic:?} at {limit:?}");
    assert!(!free.chains().client(ETHEREUM).unwrap().is_paced());
}

#[test]
fn ten_requests_a_second_are_kept_to() {
    with(async |devnet| keeps_to(devnet, ten(Counted::Requests, None), 10).await);
}

#[test]
fn ten_requests_a_second_are_kept_to_where_the_endpoint_says_when() {
    with(async |devnet| keeps_to(devnet, ten(Counted::Requests, Some(1)), 10).await);
}

#[test]
fn ten_calls_a_second_make_batches_smaller() {
    with(async |devnet| keeps_to(devnet, ten(Counted::Calls, Some(1)), 8).await);
}

/// Asserts that only the watcher tries the endpoint of `first` while it fails, and that reads are right meanwhile.
async fn rests(devnet: &Devnet, reader: &Reader, first: &Proxy) {
    let whole = Reader::of(devnet).ethereum().started().await;
    reader.read(devnet.wallet("saver").address).await;
    first.take();
    let began = Instant::now();
    let reads = devnet.wallets.iter().take(16).map(async |wallet| {
        let read = reader.read(wallet.address).await;
        assert_eq!(read.chains, whole.read(wallet.address).await.chains, "{}", wallet.name);
    });
    join_all(reads).await;
    let asked = first.take();
    // The watcher waits twice as long each time: after a second, three, seven and so on.
    let tries = (began.elapsed().as_secs() + 1).ilog2() as usize + 1;
    assert!(asked.len() <= tries.max(4) && asked.iter().all(is_for_chain_id), "{asked:?}");
}

fn is_for_chain_id(call: &Call) -> bool {
    call.method == "eth_chainId"
}

#[test]
fn a_resting_endpoint_is_tried_by_the_watcher_and_used_again() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.rule(|_| Reply::Status(503, None));
        let reader = Reader::of(devnet).ethereum().through(&[&first, &second]).with(uncached).started().await;
        rests(devnet, &reader, &first).await;
        first.rule(|_| Reply::Pass);
        let asked = async || {
            reader.read(devnet.wallet("saver").address).await;
            first.take()
        };
        until(asked, |asked| !asked.iter().all(is_for_chain_id)).await;
        second.take();
        reader.read(devnet.wallet("borrower").address).await;
        assert!(second.take().is_empty());
    });
}

#[test]
fn a_black_hole_costs_requests_nothing_while_it_rests() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.rule(|_| Reply::Hold);
        let reader = Reader::of(devnet).ethereum().through(&[&first, &second]).with(uncached).started().await;
        rests(devnet, &reader, &first).await;
    });
}

#[test]
fn an_endpoint_that_refuses_connections_is_left_for_the_next() {
    with(async |devnet| {
        let second = Proxy::start(devnet.ethereum.url()).await;
        let rpc = vec![Secret::new("http://127.0.0.1:9"), Secret::new(&second.url)];
        let reader = Reader::of(devnet).ethereum().with(|config| config.chains[0].rpc = rpc).started().await;
        let whole = Reader::of(devnet).ethereum().started().await;
        for wallet in devnet.wallets.iter().take(3) {
            assert_eq!(reader.read(wallet.address).await.chains, whole.read(wallet.address).await.chains);
        }
        assert_eq!(reader.chains().status()[0].endpoint, second.url.strip_prefix("http://").map(str::to_owned));
    });
}

#[test]
fn a_configured_bound_splits_batches() {
    with(async |devnet| {
        let meter = Meter::default();
        let endpoint = limited(devnet, ten(Counted::Calls, None), &meter).await;
        let there = vec![Secret::new(&endpoint.url)];
        let bounded = |config: &mut Config| {
            config.reading.rpc.per_second = 5;
            config.chains[0].rpc = there;
        };
        let reader = Reader::of(devnet).ethereum().with(patient).with(bounded).started().await;
        let wallet = devnet.wallet("borrower").address;
        let whole = Reader::of(devnet).ethereum().started().await.read(wallet).await;
        assert_eq!(reader.read(wallet).await.chains, whole.chains);
        assert_eq!(meter.take().refused, 0);
    });
}

#[test]
fn wallets_at_a_slow_endpoint_are_read_to_the_end_one_after_the_other() {
    with(async |devnet| {
        let meter = Meter::default();
        let slow = Limit { counted: Counted::Calls, per_second: 60, retry_after: Some(1) };
        let endpoint = limited(devnet, slow, &meter).await;
        let there = vec![Secret::new(&endpoint.url)];
        // Less than one read takes.
        let hurried = |config: &mut Config| {
            config.scoring.read_budget = Duration::from_secs(1);
            (config.chains[0].rpc, config.chains[0].multicall) = (there, None);
        };
        let kept = |config: &mut Config| config.scoring.incomplete_cache_ttl = Duration::ZERO;
        let reader = Reader::of(devnet).ethereum().with(hurried).with(kept).started().await;
        let wallets: Vec<_> = devnet.wallets.iter().take(5).collect();
        let complete = async || {
            let reads = wallets.iter().map(|wallet| reader.read(wallet.address));
            join_all(reads).await.iter().filter(|read| read.coverage() == Coverage::Complete).count()
        };
        until(complete, |complete| *complete == wallets.len()).await;
        let free = Reader::of(devnet).ethereum().started().await;
        for wallet in wallets {
            let (read, whole) = (reader.read(wallet.address).await, free.read(wallet.address).await);
            assert_eq!(read.chains, whole.chains, "{}", wallet.name);
        }
    });
}

/// A stream of requests is not polled while its caller awaits another one.
#[test]
fn requests_that_are_left_unpolled_hold_up_no_other() {
    with(async |devnet| {
        let config = Reader::of(devnet).ethereum().config.clone();
        let endpoints =
            Endpoints { chain: ETHEREUM, rpc: config.chains[0].rpc.clone(), multicall: None, max_head_age: None };
        let client = Client::new(&endpoint::http(), &endpoints, &config.reading.rpc);
        let head = client.head().await.unwrap().number;
        let more_than_permits = 1..=3 * config.reading.rpc.concurrency as u64;
        let mut left: Vec<_> = more_than_permits.map(|number| Box::pin(client.block(number))).collect();
        for request in &mut left {
            assert!(poll!(request).is_pending());
        }
        let other = timeout(PATIENCE, client.block(head)).await.unwrap().unwrap();
        assert_eq!(other.map(|block| block.number), Some(head));
        let numbers = try_join_all(left).await.unwrap().into_iter().map(|block| block.unwrap().number);
        assert!(numbers.eq(1..=3 * config.reading.rpc.concurrency as u64));
    });
}
