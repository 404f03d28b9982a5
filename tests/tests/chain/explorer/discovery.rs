//! Discovery by a node's logs on a chain without an explorer, compared with the receipts of every block; and its
//! behaviour when the node refuses such queries.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use alloy::primitives::{B256, U256};
use alloy::sol;
use alloy::sol_types::{SolEvent, SolValue};
use assay::config::Config;
use assay_chain::config::Discovery;
use assay_domain::{Address, AssetClass, ChainSnapshot, Coverage};
use assay_tests::devnet::{Devnet, Rpc};
use assay_tests::lenders::Log;
use assay_tests::proxy::{Call, Proxy, Reply};
use assay_tests::until::until;
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::history::one_more_event;
use super::super::{PATIENCE, RUNTIME, alone, with};
use super::Reader;
use super::holdings::{ETHER, OTHER, Scene, Things, WALLET, factory, mintCall, of, transferCall, transferFromCall};

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids,
        uint256[] values);
}

/// Token transfers from or to an address: their number, and the contracts of fungible tokens.
#[derive(Debug, PartialEq, Eq, Default)]
struct Moved {
    times: u64,
    contracts: BTreeSet<Address>,
}

/// Counted from the receipts of every block.
async fn moved(rpc: &Rpc, wallet: Address) -> Moved {
    #[derive(Deserialize)]
    struct Receipt {
        logs: Vec<Log>,
    }
    let head: U256 = rpc.request("eth_blockNumber", json!([])).await.unwrap();
    let asks: Vec<_> = (0..=head.to::<u64>()).map(|n| ("eth_getBlockReceipts", json!([format!("{n:#x}")]))).collect();
    let blocks: Vec<Vec<Receipt>> = rpc.batch(&asks).await.unwrap();
    let mut moved = Moved::default();
    for log in blocks.into_iter().flatten().flat_map(|receipt| receipt.logs) {
        let names = |topics: &[B256]| topics.contains(&wallet.into_word());
        match log.topics.as_slice() {
            [Transfer::SIGNATURE_HASH, between @ ..] if between.len() == 2 && names(between) => {
                moved.times += 1;
                moved.contracts.insert(log.address);
            }
            [Transfer::SIGNATURE_HASH, from, to, _] if names(&[*from, *to]) => moved.times += 1,
            [TransferSingle::SIGNATURE_HASH, _, from, to] if names(&[*from, *to]) => moved.times += 1,
            [TransferBatch::SIGNATURE_HASH, _, from, to] if names(&[*from, *to]) => {
                moved.times += <(Vec<U256>, Vec<U256>)>::abi_decode_params(&log.data).unwrap().0.len() as u64;
            }
            _ => {}
        }
    }
    moved
}

fn by_logs(config: &mut Config) {
    config.reading.discovery = Discovery::Logs;
    config.scoring.cache_ttl = Duration::ZERO;
    config.scoring.incomplete_cache_ttl = Duration::ZERO;
}

/// A reader of chain 1 of the devnet through `proxy`.
fn reader(devnet: &Devnet, proxy: &Proxy) -> Reader {
    Reader::of(devnet).ethereum().through(&[proxy]).with(by_logs)
}

/// Whether the call queries logs of all contracts.
fn names_none(call: &Call) -> bool {
    call.span().is_some() && call.params[0].get("address").is_none()
}

/// Since the last call of this function: the spans of the queries for logs of all contracts, and the number of other
/// log queries.
fn asked(proxy: &Proxy) -> (Vec<(u64, u64)>, usize) {
    let calls = proxy.take();
    let (all, named): (Vec<_>, Vec<_>) =
        calls.iter().filter(|call| call.span().is_some()).partition(|call| names_none(call));
    (all.into_iter().filter_map(Call::span).collect(), named.len())
}

/// The number of queries without a contract in five reads, the first of which is refused. The first refusal may cancel
/// the others before they are sent, and those that were sent may arrive later.
const REFUSED: RangeInclusive<usize> = 1..=3;

fn told(read: &ChainSnapshot) -> (Coverage, Option<u64>) {
    (read.coverage, read.activity.transfers)
}

#[test]
fn what_moved_is_found_in_logs_as_in_receipts() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let (factory, coin, gone) =
            (factory(&mut scene), scene.coin("Coin", "COIN", 18), scene.coin("Gone", "GONE", 18));
        let (pictures, things) = (scene.stub("Pictures"), scene.stub("Things"));
        scene.setup.pair_factories = vec![factory];
        scene.chain.mine().await.unwrap();
        let (ether, dollar) = (scene.ether, scene.dollar);
        let pair = scene.pool(factory, (ether, dollar), (10 * ETHER, 20_000_000_000)).await.unwrap();
        for (token, amount) in [(coin, 5 * ETHER), (gone, 5 * ETHER), (pictures, 1), (pictures, 2)] {
            scene.give(token, WALLET, amount);
        }
        let numbers = |numbers: [u64; 3]| numbers.map(U256::from).to_vec();
        let mint = Things::mintCall { to: WALLET, ids: numbers([7, 8, 9]), amounts: numbers([5, 1, 1]) };
        scene.chain.call(WALLET, things, &mint).await.unwrap();
        scene
            .chain
            .call(WALLET, pictures, &transferFromCall { from: WALLET, to: OTHER, id: U256::from(2) })
            .await
            .unwrap();
        scene.chain.call(WALLET, gone, &transferCall { to: OTHER, amount: U256::from(5 * ETHER) }).await.unwrap();
        // A transfer to itself, which two queries return.
        scene.chain.call(WALLET, coin, &transferCall { to: WALLET, amount: U256::from(ETHER) }).await.unwrap();
        let away = (U256::from(8), U256::from(1), alloy::primitives::Bytes::new());
        let away = Things::safeTransferFromCall { from: WALLET, to: OTHER, id: away.0, amount: away.1, data: away.2 };
        scene.chain.call(WALLET, things, &away).await.unwrap();
        scene.chain.queue(OTHER, coin, &mintCall { to: OTHER, amount: U256::from(1) });
        scene.chain.mine().await.unwrap();

        let reader = scene.reader().with(by_logs).started().await;
        let read = reader.read(WALLET).await.chains[0].clone();
        let expected = moved(&scene.chain.rpc, WALLET).await;
        assert_eq!(expected, Moved { times: 12, contracts: [pair, coin, gone].into() });
        assert_eq!(told(&read), (Coverage::Complete, Some(expected.times)));
        // Logs do not show transactions.
        let activity = &read.activity;
        assert_eq!((activity.transactions, activity.counterparties, activity.active_days), (5, None, None));
        assert_eq!((activity.active_hours, activity.median_gap_seconds), (None, None));
        assert_eq!(of(&read, coin).unwrap().balance_text(), "5");
        let share = of(&read, pair).unwrap();
        assert!(share.class == AssetClass::Liquidity && share.value_usd() > 39_000.0, "{share:?}");
        assert!(of(&read, gone).is_none() && of(&read, pictures).is_none());
        let names: Vec<_> = read.nfts.iter().map(|nft| nft.name.rsplit(' ').next().unwrap_or_default()).collect();
        assert_eq!(names, ["#1", "#7", "#9"]);
    });
}

#[test]
fn tokens_of_lenders_are_found_and_not_counted_twice() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let (bare, reader) = (Reader::of(devnet).ethereum().started().await, reader(devnet, &proxy).started().await);
        for name in ["borrower", "saver", "busy"] {
            let wallet = devnet.wallet(name).address;
            let (expected, read) = (bare.read(wallet).await, reader.read(wallet).await);
            let read = &read.chains[0];
            assert_eq!(
                told(read),
                (Coverage::Complete, Some(moved(&devnet.ethereum.rpc, wallet).await.times)),
                "{name}"
            );
            assert_eq!(read.tokens, expected.chains[0].tokens, "{name}");
            assert_eq!(read.pools, expected.chains[0].pools, "{name}");
        }
    });
}

#[test]
fn no_such_query_is_made_unless_it_is_wanted() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let silent = Reader::of(devnet).ethereum().through(&[&proxy]).started().await;
        let wallet = devnet.wallet("borrower").address;
        let read = silent.read(wallet).await.chains[0].clone();
        assert_eq!(told(&read), (Coverage::Complete, None));
        let (all, named) = asked(&proxy);
        assert!(all.is_empty() && named > 0, "{all:?}");

        // On a node that answers them, three queries return everything, and the next read needs three.
        let reader = reader(devnet, &proxy).started().await;
        let head = devnet.ethereum.head().await.unwrap().0;
        let read = reader.read(wallet).await.chains[0].clone();
        assert_eq!(asked(&proxy).0, [(0, head); 3]);
        assert_eq!(told(&reader.read(wallet).await.chains[0]), told(&read));
        let (all, named) = asked(&proxy);
        assert_eq!(all, [(head - reader.config.chains[0].finality + 1, head); 3]);
        assert!(named <= 2, "{named}");
    });
}

/// Applies `reply` to queries for logs of all contracts.
fn all_contracts(reply: impl Fn(&Call) -> Reply + Send + 'static) -> impl FnMut(&Call) -> Reply + Send + 'static {
    move |call| if names_none(call) { reply(call) } else { Reply::Pass }
}

fn error(message: &str) -> Reply {
    Reply::Error { code: -32701, message: message.into() }
}

#[test]
fn an_endpoint_that_wants_a_contract_named_is_left_alone() {
    alone(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let refuse =
            || all_contracts(|_| error("Please specify an address in your request or order a dedicated full node"));
        let wallet = devnet.wallet("saver").address;
        let expected = Reader::of(devnet).ethereum().started().await.read(wallet).await.chains[0].clone();
        let mut reader = reader(devnet, &proxy).started().await;
        proxy.rule(refuse());
        let mut queries = 0;
        for _ in 0..5 {
            let chain = reader.read(wallet).await.chains[0].clone();
            assert!(chain.unread.iter().all(|unread| unread.reason.contains("configure an explorer")));
            assert_eq!(ChainSnapshot { unread: expected.unread.clone(), ..chain }, expected);
            queries += asked(&proxy).0.len();
        }
        assert!(REFUSED.contains(&queries), "{queries}");

        // Earlier results still count, and newer transfers are missing.
        proxy.rule(|_| Reply::Pass);
        reader.restart().await;
        let before = reader.read(wallet).await.chains[0].clone();
        assert_eq!(told(&before), (Coverage::Complete, Some(moved(&devnet.ethereum.rpc, wallet).await.times)));
        let here = devnet.ethereum.snapshot().await.unwrap();
        devnet.ethereum.mine(20).await.unwrap();
        one_more_event(devnet, &devnet.ethereum).await;
        proxy.rule(refuse());
        let after = reader.read(wallet).await.chains[0].clone();
        assert_eq!(after.coverage, Coverage::Partial);
        assert!(after.activity.transfers.is_some() && after.activity.transfers <= before.activity.transfers);
        devnet.ethereum.revert(here).await.unwrap();
    });
}

#[test]
fn an_endpoint_that_would_take_for_ever_is_left_alone() {
    RUNTIME.block_on(async {
        let mut scene = Scene::start().await.unwrap();
        let coin = scene.coin("Coin", "COIN", 18);
        scene.chain.mine().await.unwrap();
        scene.give(coin, WALLET, ETHER);
        scene.chain.mine().await.unwrap();
        // Mining a chain of that length takes too long here, so the node reports number 20 million for its newest
        // block.
        let mut head: Value = scene.chain.rpc.request("eth_getBlockByNumber", json!(["latest", false])).await.unwrap();
        head["number"] = json!("0x1312d00");
        let proxy = Proxy::start(scene.chain.url()).await;
        proxy.rule(move |call| match (call.span(), call.params[0].as_str()) {
            (Some((from, to)), _) if from < to => {
                error("block range of queries without an address is limited to 1000 blocks")
            }
            (None, Some("latest")) => Reply::Result(head.clone()),
            _ => Reply::Pass,
        });
        let reader = scene.reader().through(&[&proxy]).with(by_logs).started().await;
        let mut queries = 0;
        for _ in 0..5 {
            assert_eq!(told(&reader.read(WALLET).await.chains[0]), (Coverage::Complete, None));
            queries += asked(&proxy).0.len();
        }
        assert!(REFUSED.contains(&queries), "{queries}");
    });
}

/// The node answers queries of at most ten blocks, and gives the reply `then` after `answers`.
fn narrow(answers: usize, then: Reply) -> impl FnMut(&Call) -> Reply + Send + 'static {
    let mut answered = 0;
    move |call| match call.span() {
        Some((from, to)) if names_none(call) && to - from >= 10 => error("range 1 exceeds limit of 10"),
        Some(_) if names_none(call) => {
            answered += 1;
            if answered > answers { then.clone() } else { Reply::Pass }
        }
        _ => Reply::Pass,
    }
}

#[test]
fn a_long_read_goes_on_in_the_background_and_after_a_restart() {
    with(async |devnet| {
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        let wallet = devnet.wallet("busy").address;
        let expected = moved(&devnet.ethereum.rpc, wallet).await.times;
        let short = |config: &mut Config| {
            config.reading.log_concurrency = 1;
            config.scoring.read_budget = Duration::from_millis(3_000);
        };
        let mut reader = reader(devnet, &proxy).with(short).started().await;
        // Nineteen ranges of three queries each, then the node stops answering.
        proxy.rule(narrow(57, Reply::Hold));
        let read = async || reader.read(wallet).await.chains[0].clone();
        assert_ne!(read().await.coverage, Coverage::Complete);
        tokio::time::timeout(PATIENCE, proxy.held()).await.unwrap();
        let read = until(read, |read| read.activity.transfers.is_some_and(|transfers| transfers > 0)).await;
        assert!(read.coverage == Coverage::Partial && read.activity.transfers <= Some(expected), "{:?}", read.activity);

        // The host is killed. Settled blocks are not read again, but for those after the last checkpoint, which is at
        // most sixteen ranges old.
        // A proxy of its own: queries of the reader before are still held by the first one.
        let proxy = Proxy::start(devnet.ethereum.url()).await;
        proxy.rule(narrow(6, Reply::Hold));
        reader = reader.through(&[&proxy]);
        reader.restart().await;
        assert_ne!(reader.read(wallet).await.chains[0].coverage, Coverage::Complete);
        tokio::time::timeout(PATIENCE, proxy.held()).await.unwrap();
        let start = asked(&proxy).0.iter().map(|(from, _)| *from).min().unwrap();
        assert!((40..=190).contains(&start) && start % 10 == 0, "{start}");

        // The same read completes without another request for it.
        proxy.rule(narrow(usize::MAX, Reply::Pass));
        proxy.release(1_000);
        let read = async || reader.read(wallet).await.chains[0].clone();
        let read = until(read, |read| read.coverage == Coverage::Complete).await;
        assert_eq!(told(&read), (Coverage::Complete, Some(expected)));
        assert!(asked(&proxy).0.iter().all(|(from, _)| *from > start), "each range once");
    });
}

#[test]
fn what_moved_on_a_chain_that_was_replaced_is_dropped() {
    alone(async |devnet| {
        let (on, wallet) = (&devnet.ethereum, devnet.wallet("saver").address);
        let proxy = Proxy::start(on.url()).await;
        let reader = reader(devnet, &proxy).started().await;
        let is_current = async |what: &str| {
            let read = reader.read(wallet).await.chains[0].clone();
            assert_eq!(told(&read), (Coverage::Complete, Some(moved(&on.rpc, wallet).await.times)), "{what}");
        };
        is_current("before").await;
        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        is_current("one event more").await;
        on.revert(here).await.unwrap();
        on.mine(1).await.unwrap();
        is_current("a tail that was replaced").await;

        let here = on.snapshot().await.unwrap();
        one_more_event(devnet, on).await;
        on.mine(40).await.unwrap();
        is_current("settled").await;
        on.revert(here).await.unwrap();
        on.pass(1_000).await.unwrap();
        on.mine(100).await.unwrap();
        is_current("another chain").await;
    });
}
