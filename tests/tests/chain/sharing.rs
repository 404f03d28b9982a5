//! Many requests to the host cause few requests to the chain.

use std::collections::BTreeSet;
use std::time::Duration;

use assay_domain::{Address, Coverage};
use assay_tests::devnet::Devnet;
use assay_tests::proxy::{Call, Fault, Proxy, Reply};
use assay_tests::until::until;
use futures::future::join_all;

use super::{PATIENCE, Reader, with};

fn count(calls: &[Call], method: &str) -> usize {
    calls.iter().filter(|call| call.method == method).count()
}

#[test]
fn large_answers_that_stall_keep_no_other_endpoint_waiting() {
    with(async |devnet| {
        for (method, fault) in [
            ("eth_getLogs", Fault::Stalled),
            ("eth_getLogs", Fault::Dripping),
            ("eth_call", Fault::Stalled),
            ("eth_call", Fault::Dripping),
        ] {
            large_answers_stall(devnet, method, fault).await;
        }
    });
}

/// One endpoint spoils its answers to `method`; another one, whose answers are large, is read meanwhile.
async fn large_answers_stall(devnet: &Devnet, method: &'static str, fault: Fault) {
    let (stalled, large) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
    let spoils = |fault| move |call: &Call| if call.method == method { Reply::Spoil(fault) } else { Reply::Pass };
    stalled.rule(spoils(fault));
    large.rule(spoils(Fault::Padded));
    let slow = Reader::of(devnet).through(&[&stalled]).ethereum().started().await;
    let honest = Reader::of(devnet).through(&[&large]).ethereum().started().await;
    let address = |name| devnet.wallet(name).address;
    let wallets = ["borrower", "saver", "whale", "farmer", "mainnet-only"].map(address);
    let stall = join_all(wallets.map(|wallet| slow.read_for_a_score(wallet)));
    let mut asked = 0;
    let read = async {
        let all = async || {
            asked += count(&stalled.take(), method);
            asked
        };
        until(all, |asked| *asked >= 4).await;
        honest.read_for_a_score(address("borrower")).await
    };
    tokio::select! {
        snapshot = read => assert_eq!(snapshot.coverage(), Coverage::Complete, "{method} {fault:?}"),
        _ = stall => panic!("{method} {fault:?}: the other endpoint had to wait for the answers that stall"),
    }
}

#[test]
fn two_hundred_requests_for_one_address_are_one_read() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let wallet = devnet.wallet("borrower").address;
        reader.read(devnet.wallet("saver").address).await;
        proxy.take();
        // The read ends once all have asked.
        proxy.rule(|call| if call.method == "eth_getLogs" { Reply::Hold } else { Reply::Pass });
        let all_have_asked = async {
            proxy.held().await;
            proxy.release(3);
        };
        let (reads, ()) = futures::join!(join_all((0..200).map(|_| reader.chains().snapshot(wallet))), all_have_asked);
        proxy.rule(|_| Reply::Pass);
        let calls = proxy.take();
        assert_eq!(count(&calls, "eth_getLogs"), 3, "{calls:?}");
        assert!(reads.iter().all(|read| !read.cached && read.snapshot == reads[0].snapshot));
        assert!(reader.chains().snapshot(wallet).await.cached);
        assert_eq!(count(&proxy.take(), "eth_getLogs"), 0);
    });
}

#[test]
fn a_repeated_read_asks_for_no_more_than_it_needs() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let uncached = |config: &mut assay::config::Config| config.scoring.cache_ttl = Duration::ZERO;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
        let wallet = devnet.wallet("busy").address;
        let first = reader.read(wallet).await;
        proxy.take();
        let again = reader.read(wallet).await;
        assert_eq!(first.chains, again.chains);
        let calls = proxy.take();
        // The head, the two log queries, one call for all state, and a batch of nonce and anchor blocks.
        assert_eq!((count(&calls, "eth_getLogs"), count(&calls, "eth_call")), (2, 1), "{calls:?}");
        assert!(calls.len() <= 9, "{} calls: {calls:?}", calls.len());
        let (head, _) = devnet.ethereum.head().await.unwrap();
        assert!(calls.iter().filter_map(Call::span).all(|(from, to)| (from, to) == (head - 15, head)), "{calls:?}");
    });
}

#[test]
fn a_first_read_that_outlasts_its_budget_is_pending_and_then_done() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let hurried = |config: &mut assay::config::Config| {
            config.scoring.read_budget = Duration::from_secs(15);
            config.scoring.incomplete_cache_ttl = PATIENCE;
        };
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(hurried).started().await;
        let wallet = devnet.wallet("borrower").address;
        assert_eq!(reader.read(devnet.wallet("saver").address).await.coverage(), Coverage::Complete);
        proxy.rule(|call| if call.method == "eth_getLogs" { Reply::Hold } else { Reply::Pass });
        proxy.take();
        let early = reader.chains().snapshot(wallet).await.snapshot;
        let pool = &early.chains[0].pools[0];
        assert_eq!((pool.coverage, pool.synced_to_block), (Coverage::Pending, None));
        assert_eq!((early.coverage(), early.chains[0].coverage), (Coverage::Pending, Coverage::Complete));
        assert!(early.chains[0].activity.transactions > 0 && !early.chains[0].positions.is_empty());
        // Cached only while the read continues; no second read starts.
        assert!(reader.chains().snapshot(wallet).await.cached);
        assert_eq!(count(&proxy.take(), "eth_getLogs"), 3);
        proxy.rule(|_| Reply::Pass);
        proxy.release(3);
        let done = until(async || reader.chains().snapshot(wallet).await, |read| !read.cached).await.snapshot;
        assert_eq!(done.coverage(), Coverage::Complete);
        assert_eq!(done.chains[0].pools[0].counts.repay, Some(26));
    });
}

#[test]
fn reads_in_the_background_are_bounded_and_leave_room() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let hurried = |config: &mut assay::config::Config| {
            config.scoring.read_budget = Duration::from_secs(40);
            config.scoring.incomplete_cache_ttl = PATIENCE;
            // The reader does not time out the queries that the proxy holds.
            config.reading.rpc.timeout = PATIENCE;
        };
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(hurried).started().await;
        reader.read(devnet.wallet("saver").address).await;
        proxy.rule(|call| if call.method == "eth_getLogs" { Reply::Hold } else { Reply::Pass });
        let wallets: Vec<_> = (1..=40).map(Address::repeat_byte).collect();
        let early = join_all(wallets.iter().map(|wallet| reader.read(*wallet))).await;
        // Queries without an answer do not delay other calls.
        assert!(
            early
                .iter()
                .all(|s| s.events_coverage() == Coverage::Pending && s.chains[0].coverage == Coverage::Complete)
        );
        proxy.rule(|_| Reply::Pass);
        proxy.release(1_000);
        let mut done = BTreeSet::new();
        let count = async || {
            for wallet in &wallets {
                if !reader.chains().snapshot(*wallet).await.cached {
                    done.insert(*wallet);
                }
            }
            done.len()
        };
        until(count, |done| *done >= 32).await;
        for wallet in wallets.iter().filter(|wallet| !done.contains(*wallet)) {
            assert!(reader.chains().snapshot(*wallet).await.cached, "{wallet}");
        }
    });
}
