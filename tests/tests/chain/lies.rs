//! Nodes that omit logs without an error: the wallet's position reveals the gap.

use std::collections::HashSet;
use std::time::Duration;

use alloy::primitives::{B256, U256};
use alloy::sol_types::SolEvent;
use assay_domain::{Address, Coverage, PoolHistory};
use assay_tests::devnet::Devnet;
use assay_tests::devnet::receipts::{Borrow, LendingEvents, LiquidationCall, Repay, Supply, Withdraw, lending_events};
use assay_tests::proxy::{Fault, Proxy, Reply};
use serde_json::Value;

use super::wallets::counted;
use super::{Reader, with};

/// A topic of a log.
pub(super) fn topic(log: &Value, index: usize) -> Option<B256> {
    log["topics"][index].as_str()?.parse().ok()
}

/// Omits the first log with topic `kind` that has the wallet in topic `named`.
pub(super) fn first_of(kind: B256, named: usize, wallet: Address) -> impl FnMut(&Value) -> bool + Send {
    let mut first = None;
    move |log| {
        if topic(log, 0) != Some(kind) || topic(log, named) != Some(wallet.into_word()) {
            return false;
        }
        let place = (log["transactionHash"].clone(), log["logIndex"].clone());
        *first.get_or_insert_with(|| place.clone()) == place
    }
}

/// Omits all logs of these transactions, in any order of queries.
pub(super) fn all_of(transactions: HashSet<String>) -> impl FnMut(&Value) -> bool + Send {
    move |log| log["transactionHash"].as_str().is_some_and(|hash| transactions.contains(hash))
}

async fn read(devnet: &Devnet, wallet: Address, forgets: impl FnMut(&Value) -> bool + Send + 'static) -> PoolHistory {
    let proxy = Proxy::start(devnet.ethereum.url()).await;
    proxy.forget(forgets);
    Reader::of(devnet).ethereum().through(&[&proxy]).started().await.pool(wallet).await
}

/// The transaction of the wallet's event of this kind with the largest amount.
async fn greatest(devnet: &Devnet, wallet: Address, kind: B256, named: usize, amount_at: usize) -> Option<String> {
    let filter = serde_json::json!([{ "fromBlock": "0x0", "toBlock": "latest", "address": devnet.ethereum.market.pool,
        "topics": [kind] }]);
    let logs: Vec<Value> = devnet.ethereum.rpc.request("eth_getLogs", filter).await.unwrap();
    let amount = |log: &Value| {
        let data = alloy::hex::decode(log["data"].as_str().unwrap()).unwrap();
        U256::from_be_slice(&data[amount_at * 32..][..32])
    };
    let own = logs.iter().filter(|log| topic(log, named) == Some(wallet.into_word()));
    own.max_by_key(|log| amount(log)).map(|log| log["transactionHash"].as_str().unwrap().to_owned())
}

const KINDS: [(&str, B256, usize, usize); 5] = [
    ("supply", Supply::SIGNATURE_HASH, 2, 1),
    ("withdraw", Withdraw::SIGNATURE_HASH, 2, 0),
    ("borrow", Borrow::SIGNATURE_HASH, 2, 1),
    ("repay", Repay::SIGNATURE_HASH, 2, 0),
    ("liquidation", LiquidationCall::SIGNATURE_HASH, 3, 0),
];

const WALLETS: [&str; 6] = ["borrower", "saver", "liquidated", "leaver", "collector", "atoken-repayer"];

#[test]
fn a_transaction_that_is_left_out_does_not_pass() {
    with(async |devnet| {
        let mut tried = 0;
        for name in WALLETS {
            let wallet = devnet.wallet(name).address;
            for (kind, signature, named, amount_at) in KINDS {
                let Some(transaction) = greatest(devnet, wallet, signature, named, amount_at).await else { continue };
                let pool = read(devnet, wallet, all_of(HashSet::from([transaction]))).await;
                assert_eq!(pool.coverage, Coverage::Partial, "{name} without its greatest {kind}");
                tried += 1;
            }
        }
        assert_eq!(tried, 20);
    });
}

#[test]
fn one_log_of_the_pool_that_is_left_out_is_found() {
    with(async |devnet| {
        let mut found = 0;
        for name in WALLETS {
            let wallet = devnet.wallet(name).address;
            let truth = lending_events(&devnet.ethereum, wallet).await.unwrap();
            for (kind, signature, named, amount_at) in KINDS {
                if greatest(devnet, wallet, signature, named, amount_at).await.is_none() {
                    continue;
                }
                // A log of an aToken or a debt token led to the receipt.
                let pool = read(devnet, wallet, first_of(signature, named, wallet)).await;
                assert_eq!((pool.coverage, counted(&pool)), (Coverage::Complete, truth), "{name} without a {kind}");
                found += 1;
            }
        }
        assert_eq!(found, 20);
    });
}

#[test]
fn a_position_without_any_log_does_not_pass() {
    with(async |devnet| {
        // A wallet without a position is detected too: its transfers of tokens show its earlier activity.
        for name in WALLETS {
            let pool = read(devnet, devnet.wallet(name).address, |_| true).await;
            assert_eq!((pool.coverage, counted(&pool)), (Coverage::Partial, LendingEvents::default()), "{name}");
        }
    });
}

fn uncached(config: &mut assay::config::Config) {
    (config.scoring.cache_ttl, config.scoring.incomplete_cache_ttl) = (Duration::ZERO, Duration::ZERO);
}

/// Selects the logs that are omitted.
type Lie = Box<dyn FnMut(&Value) -> bool + Send>;

#[test]
fn a_false_history_that_was_settled_is_corrected_by_an_honest_read() {
    with(async |devnet| {
        let borrowed = greatest(devnet, devnet.wallet("borrower").address, Borrow::SIGNATURE_HASH, 2, 1).await.unwrap();
        let everything: fn(&Value) -> bool = |_| true;
        let one = all_of(HashSet::from([borrowed]));
        let lies: [(&str, Lie); 3] =
            [("leaver", Box::new(everything)), ("saver", Box::new(everything)), ("borrower", Box::new(one))];
        for (name, lie) in lies {
            let wallet = devnet.wallet(name).address;
            let proxy = Proxy::start(devnet.ethereum.url()).await;
            proxy.forget(lie);
            let mut reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
            assert_eq!(reader.pool(wallet).await.coverage, Coverage::Partial, "{name}");
            proxy.forget(|_| false);
            let truth = lending_events(&devnet.ethereum, wallet).await.unwrap();
            for when in ["at once", "after a restart"] {
                let pool = reader.pool(wallet).await;
                assert_eq!((pool.coverage, counted(&pool)), (Coverage::Complete, truth), "{name} {when}");
                reader.restart().await;
            }
        }
    });
}

#[test]
fn a_history_that_its_position_contradicts_is_asked_of_another_endpoint() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        let wallet = devnet.wallet("borrower").address;
        let borrowed = greatest(devnet, wallet, Borrow::SIGNATURE_HASH, 2, 1).await.unwrap();
        first.forget(all_of(HashSet::from([borrowed])));
        let reader = Reader::of(devnet).ethereum().through(&[&first, &second]).with(uncached).started().await;
        let logs = |proxy: &Proxy| proxy.take().iter().filter(|call| call.method == "eth_getLogs").count();
        assert_eq!((reader.pool(wallet).await.coverage, logs(&second)), (Coverage::Partial, 0));
        let truth = lending_events(&devnet.ethereum, wallet).await.unwrap();
        let pool = reader.pool(wallet).await;
        assert_eq!((pool.coverage, counted(&pool), logs(&second)), (Coverage::Complete, truth, 3));
        // Once explained, it is not asked again.
        let pool = reader.pool(wallet).await;
        assert_eq!((pool.coverage, counted(&pool), logs(&second)), (Coverage::Complete, truth, 0));

        // One that invents logs is not believed: their transactions have no receipt, or another one.
        let wallet = devnet.wallet("saver").address;
        let greatest = greatest(devnet, wallet, Supply::SIGNATURE_HASH, 2, 1).await.unwrap();
        first.forget(all_of(HashSet::from([greatest])));
        second.rule(|call| if call.span().is_some() { Reply::Spoil(Fault::Foreign) } else { Reply::Pass });
        reader.pool(wallet).await;
        let (pool, truth) = (reader.pool(wallet).await, lending_events(&devnet.ethereum, wallet).await.unwrap());
        assert_eq!((pool.coverage, counted(&pool)), (Coverage::Complete, truth));
    });
}

#[test]
fn a_blank_history_that_is_true_is_complete_and_costs_two_queries_to_go_on_with() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let reader = Reader::of(devnet).ethereum().through(&[&proxy]).with(uncached).started().await;
        let nobody = Address::repeat_byte(0x5a);
        for queries in [3, 2] {
            proxy.take();
            let pool = reader.pool(nobody).await;
            assert_eq!((pool.coverage, counted(&pool)), (Coverage::Complete, LendingEvents::default()));
            assert_eq!(proxy.take().iter().filter(|call| call.method == "eth_getLogs").count(), queries);
        }
    });
}

#[test]
fn a_blank_history_is_held_against_another_endpoint_once() {
    with(async |devnet| {
        let (first, second) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        first.forget(|_| true);
        let reader = Reader::of(devnet).ethereum().through(&[&first, &second]).with(uncached).started().await;
        let asked = |proxy: &Proxy| proxy.take().iter().filter(|call| call.method == "eth_getLogs").count();
        let wallet = devnet.wallet("leaver").address;
        let truth = lending_events(&devnet.ethereum, wallet).await.unwrap();
        for queries in [(3, 3), (2, 0)] {
            let pool = reader.pool(wallet).await;
            assert_eq!((pool.coverage, counted(&pool)), (Coverage::Complete, truth));
            assert_eq!((asked(&first), asked(&second)), queries);
        }
        // The position reveals a log that is missing in the blocks that are read again, as before.
        let wallet = devnet.wallet("borrower").address;
        let truth = lending_events(&devnet.ethereum, wallet).await.unwrap();
        let pool = reader.pool(wallet).await;
        assert_eq!((pool.coverage, counted(&pool), asked(&first), asked(&second)), (Coverage::Complete, truth, 3, 3));
        let pool = reader.pool(wallet).await;
        assert!(pool.coverage == Coverage::Partial || counted(&pool) == truth, "{pool:?}");
        first.take();
        second.take();
        // A wallet without events is checked once on the other endpoint.
        let nobody = Address::repeat_byte(0x5a);
        for queries in [(3, 3), (2, 0), (2, 0)] {
            assert_eq!(reader.pool(nobody).await.coverage, Coverage::Complete);
            assert_eq!((asked(&first), asked(&second)), queries);
        }
        // If that endpoint does not answer, the empty history is accepted: its first error ends the check. The queries
        // that the check gives up may arrive later, so those of all reads are counted together.
        second.rule(|_| Reply::Error { code: -32602, message: "range 1 exceeds limit of 4".into() });
        let nobody = Address::repeat_byte(0x5b);
        let mut checks = 0;
        for queries in [3, 2, 2, 2] {
            assert_eq!(reader.pool(nobody).await.coverage, Coverage::Complete);
            assert_eq!(asked(&first), queries);
            checks += asked(&second);
        }
        assert!((1..=3).contains(&checks), "{checks}");
    });
}

/// Only logs tell of credit that a wallet received, and of no other event.
#[test]
fn credit_that_an_endpoint_leaves_out_is_found_at_another() {
    with(async |devnet| {
        let wallet = devnet.wallet("delegate").address;
        let truth = Reader::of(devnet).ethereum().started().await.read(wallet).await.chains[0].positions.clone();
        assert!(truth.iter().any(|position| !position.delegations.as_deref().unwrap_or_default().is_empty()));
        let (lying, honest) = (Proxy::start(devnet.ethereum.url()).await, Proxy::start(devnet.ethereum.url()).await);
        lying.forget(|_| true);
        let reader = Reader::of(devnet).ethereum().through(&[&lying, &honest]).with(uncached).started().await;
        for _ in 0..2 {
            assert_eq!(reader.read(wallet).await.chains[0].positions, truth);
        }
    });
}
