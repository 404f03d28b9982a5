//! Stored progress: it is continued, read again near the head, and dropped after a reorganisation.

use std::time::Duration;

use alloy::sol;
use alloy::sol_types::SolCall;
use assay::config::Config;
use assay_domain::{Coverage, EventCounts, U256};
use assay_lending::record::{self, LendingProgress};

use assay_tests::devnet::receipts::{LendingEvents, lending_events};
use assay_tests::devnet::{Chain, Devnet};
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::until::until;

use super::wallets::{counted, same_activity};
use super::{Reader, alone, with};

sol! {
    function supply(address asset, uint256 amount, address onBehalfOf, uint16 referralCode) external;
    function withdraw(address asset, uint256 amount, address to) external returns (uint256);
}

/// The saver withdraws a dollar, which adds one event.
pub(super) async fn one_more_event(devnet: &Devnet, on: &Chain) {
    let wallet = devnet.wallet("saver").address;
    let asset = on.market.token("USDC").unwrap().address;
    let call = withdrawCall { asset, amount: U256::from(1_000_000), to: wallet }.abi_encode();
    on.send(wallet, on.market.pool, call, U256::ZERO).await.unwrap();
}

/// The node answers queries of at most ten blocks.
fn narrow(call: &Call) -> Reply {
    match call.span() {
        Some((from, to)) if to - from >= 10 => {
            Reply::Error { code: -32602, message: "range 1 exceeds limit of 10".into() }
        }
        _ => Reply::Pass,
    }
}

/// The node answers queries of at most ten blocks, and gives the reply `then` after `calls` answers.
fn narrow_until(calls: usize, then: Reply) -> impl FnMut(&Call) -> Reply {
    let mut answered = 0;
    move |call| {
        let reply = narrow(call);
        if call.span().is_none() || !matches!(reply, Reply::Pass) {
            return reply;
        }
        answered += 1;
        if answered > calls { then.clone() } else { reply }
    }
}

async fn reads_on_from(reader: &Reader, proxy: &Proxy, devnet: &Devnet) -> u64 {
    let wallet = devnet.wallet("busy").address;
    proxy.rule(narrow);
    proxy.take();
    // A machine that is too busy to answer in time leaves a gap, which a later read closes.
    let pool = until(async || reader.pool(wallet).await, |pool| pool.coverage == Coverage::Complete).await;
    assert_eq!(counted(&pool), lending_events(&devnet.ethereum, wallet).await.unwrap());
    proxy.take().iter().filter_map(Call::span).map(|(from, _)| from).min().unwrap()
}

#[test]
fn a_read_that_broke_off_goes_on_where_it_stopped() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        proxy.rule(narrow_until(12, Reply::Error { code: -32000, message: "internal".into() }));
        let partial = reader.pool(devnet.wallet("busy").address).await;
        assert_eq!(partial.coverage, Coverage::Partial);
        assert!(partial.counts.repay < Some(750));
        reader.restart().await;
        assert_eq!(reads_on_from(&reader, &proxy, devnet).await, partial.synced_to_block.unwrap() + 1);
    });
}

#[test]
fn a_read_that_was_killed_goes_on_from_its_last_checkpoint() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let one_by_one = |config: &mut Config| config.reading.log_concurrency = 1;
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(one_by_one).started().await;
        // The node answers nineteen ranges of three queries each, then it stops answering and the host is killed.
        proxy.rule(narrow_until(57, Reply::Hold));
        let (chains, wallet) = (reader.chains().clone(), devnet.wallet("busy").address);
        let waiting = tokio::spawn(async move { chains.snapshot(wallet).await });
        proxy.held().await;
        waiting.abort();
        reader.restart().await;
        let from_block = reader.config.chains[0].markets[0].from_block;
        let read = reads_on_from(&reader, &proxy, devnet).await - from_block;
        // A checkpoint is at most sixteen ranges old.
        assert!((40..=190).contains(&read) && read % 10 == 0, "{read}");
    });
}

#[test]
fn a_history_without_amounts_is_read_once_more() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
        let wallet = devnet.wallet("borrower").address;
        let pool = reader.pool(wallet).await;
        let key = record::lending(1, pool.market_address, wallet);
        // An older host stored this record without sums, after a node returned no events.
        let older = |kept: LendingProgress| LendingProgress { counts: EventCounts::ZERO, sums: None, ..kept };
        reader
            .restart_after(async |store| {
                let kept = store.get(&key).await.unwrap().unwrap();
                assert!(kept.sums.as_ref().is_some_and(|sums| sums.len() == 4), "{kept:?}");
                store.put(&key, &older(kept)).await.unwrap();
            })
            .await;
        for first_block in [reader.config.chains[0].markets[0].from_block, pool.synced_to_block.unwrap() - 15] {
            proxy.take();
            let again = reader.pool(wallet).await;
            assert_eq!((again.coverage, &again.counts), (Coverage::Complete, &pool.counts));
            let from = proxy.take().iter().filter_map(Call::span).map(|(from, _)| from).max().unwrap();
            assert_eq!(from, first_block);
        }
    });
}

/// Asserts that the reader's figures of the saver equal those of the chain.
async fn is_current(reader: &Reader, devnet: &Devnet, what: &str) -> LendingEvents {
    let (on, wallet) = (&devnet.ethereum, devnet.wallet("saver").address);
    let read = reader.read(wallet).await;
    assert_eq!(read.coverage(), Coverage::Complete, "{what}");
    let events = counted(&read.chains[0].pools[0]);
    assert_eq!(events, lending_events(on, wallet).await.unwrap(), "{what}");
    same_activity(on, wallet, &read.chains[0].activity, what).await;
    events
}

pub(super) fn uncached(config: &mut Config) {
    config.scoring.cache_ttl = Duration::ZERO;
}

#[test]
fn the_tail_is_read_again_and_follows_a_reorganisation() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let reader = Reader::of(devnet).ethereum().with(uncached).started().await;
        let before = is_current(&reader, devnet, "before").await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        let after = is_current(&reader, devnet, "one event more").await;
        assert_eq!(after.withdraw, before.withdraw + 1);
        on.revert(here).await.unwrap();
        on.mine(1).await.unwrap();
        assert_eq!(is_current(&reader, devnet, "reorganised").await, before);
    });
}

#[test]
fn a_reorganisation_of_ten_blocks_is_followed_exactly() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let reader = Reader::of(devnet).ethereum().with(uncached).started().await;
        let before = is_current(&reader, devnet, "before").await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(9).await.unwrap();
        let head = on.head().await.unwrap().0;
        let left = is_current(&reader, devnet, "one event and ten blocks more").await;
        assert_eq!(left.withdraw, before.withdraw + 1);
        on.revert(here).await.unwrap();
        let here = on.snapshot().await.unwrap();
        on.pass(1_000).await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(8).await.unwrap();
        assert_eq!(on.head().await.unwrap().0, head, "as long as the branch that was left");
        let after = is_current(&reader, devnet, "on the other branch").await;
        assert_eq!((after.withdraw, after.total()), (left.withdraw, left.total()));
        assert!(after.last > left.last, "the event of this branch came later");
        on.revert(here).await.unwrap();
    });
}

#[test]
fn settled_history_of_another_chain_is_dropped() {
    alone(async |devnet| {
        let on = &devnet.ethereum;
        let reader = Reader::of(devnet).ethereum().with(uncached).started().await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(40).await.unwrap();
        let settled = is_current(&reader, devnet, "settled").await;
        on.revert(here).await.unwrap();
        let shorter = is_current(&reader, devnet, "a shorter chain").await;
        assert_eq!(shorter.withdraw + 1, settled.withdraw);

        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(60).await.unwrap();
        is_current(&reader, devnet, "settled again").await;
        on.revert(here).await.unwrap();
        on.pass(1_000).await.unwrap();
        on.mine(100).await.unwrap();
        assert_eq!(is_current(&reader, devnet, "a longer chain").await, shorter);
        on.revert(here).await.unwrap();
    });
}
