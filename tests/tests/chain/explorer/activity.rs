//! Activity figures equal those counted from blocks and receipts.

use std::collections::BTreeSet;

use assay_domain::{Activity, Address, Coverage};
use assay_tests::devnet::{Chain, ETHEREUM};
use assay_tests::explorer::Flavour;
use serde_json::{Value, json};

use super::super::wallets::same_activity;
use super::super::{alone, chain, with};
use super::{of_chain, reader};

/// The activity of an address in the blocks of a chain, counted without the explorer.
#[derive(Debug, Default)]
struct Counted {
    transfers: u64,
    others: BTreeSet<Address>,
    /// Times of the sent transactions in Unix seconds, in order.
    sent: Vec<u64>,
}

const TRANSFERS: [&str; 2] =
    ["Transfer(address,address,uint256)", "TransferSingle(address,address,address,uint256,uint256)"];

/// A block with transactions, and their receipts.
struct Busy {
    time: u64,
    transactions: Vec<Value>,
    receipts: Vec<Value>,
}

/// The blocks of a chain that have transactions.
async fn blocks(on: &Chain) -> Vec<Busy> {
    let (head, _) = on.head().await.unwrap();
    let asks: Vec<_> = (0..=head).map(|n| ("eth_getBlockByNumber", json!([format!("{n:#x}"), true]))).collect();
    let mut blocks: Vec<Value> = on.rpc.batch(&asks).await.unwrap();
    blocks.retain(|block| !block["transactions"].as_array().unwrap().is_empty());
    let asks: Vec<_> = blocks.iter().map(|block| ("eth_getBlockReceipts", json!([block["number"]]))).collect();
    let receipts: Vec<Vec<Value>> = on.rpc.batch(&asks).await.unwrap();
    let busy = blocks.iter_mut().zip(receipts).map(|(block, receipts)| Busy {
        time: u64::from_str_radix(block["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap(),
        transactions: block["transactions"].as_array_mut().map(std::mem::take).unwrap(),
        receipts,
    });
    busy.collect()
}

fn count(blocks: &[Busy], wallet: Address) -> Counted {
    let mut counted = Counted::default();
    let topics = TRANSFERS.map(|event| json!(alloy::primitives::keccak256(event)));
    let word = json!(wallet.into_word());
    let same = |at: &Value| at.as_str().is_some_and(|at| at.parse() == Ok(wallet));
    for Busy { time, transactions, receipts } in blocks {
        for tx in transactions {
            let other = match (same(&tx["from"]), same(&tx["to"])) {
                (true, _) => &tx["to"],
                (false, true) => &tx["from"],
                (false, false) => continue,
            };
            if same(&tx["from"]) {
                counted.sent.push(*time);
            }
            counted.others.extend(
                other.as_str().and_then(|other| other.parse::<Address>().ok()).filter(|other| *other != wallet),
            );
        }
        for log in receipts.iter().flat_map(|receipt| receipt["logs"].as_array().unwrap()) {
            let logged = log["topics"].as_array().unwrap();
            let parties = logged
                .iter()
                .skip(1 + topics.iter().position(|topic| logged.first() == Some(topic)).unwrap_or(99))
                .take(2);
            counted.transfers += u64::from(parties.into_iter().any(|party| *party == word));
        }
    }
    counted
}

fn same(activity: &Activity, counted: &Counted, what: &str) {
    let (days, hours): (BTreeSet<_>, BTreeSet<_>) =
        counted.sent.iter().map(|time| (time / 86_400, time % 86_400 / 3_600)).unzip();
    let number = |count: usize| u32::try_from(count).ok();
    assert_eq!(activity.transactions, counted.sent.len() as u64, "{what}");
    assert_eq!(activity.transfers, Some(counted.transfers), "{what}");
    assert_eq!(activity.counterparties, number(counted.others.len()), "{what}");
    assert_eq!((activity.active_days, activity.active_hours), (number(days.len()), number(hours.len())), "{what}");
    let mut gaps: Vec<u64> = counted.sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    match (gaps.get(gaps.len() / 2), activity.median_gap_seconds) {
        (Some(exact), Some(told)) => assert!(told.abs_diff(*exact) <= exact / 32 + 1, "{what}: {told} for {exact}"),
        (exact, told) => assert_eq!((exact, told), (None, None), "{what}"),
    }
}

#[test]
fn figures_are_those_of_the_blocks_in_both_flavours() {
    with(async |devnet| {
        let on = &devnet.ethereum;
        let blocks = blocks(on).await;
        for flavour in [Flavour::Etherscan, Flavour::Blockscout] {
            let explorer = of_chain(flavour, on).await;
            let reader = reader(devnet, &explorer).started().await;
            for name in ["busy", "whale", "collector", "empty"] {
                let what = format!("{name} by {flavour:?}");
                let wallet = devnet.wallet(name).address;
                let snapshot = reader.read(wallet).await;
                let read = chain(&snapshot, ETHEREUM);
                assert_eq!(read.coverage, Coverage::Complete, "{what}");
                same(&read.activity, &count(&blocks, wallet), &what);
                same_activity(on, wallet, &read.activity, &what).await;
            }
        }
    });
}

#[test]
fn what_is_settled_is_not_asked_for_again_and_the_tail_follows_a_reorganisation() {
    alone(async |devnet| {
        let (on, wallet) = (&devnet.ethereum, devnet.wallet("saver").address);
        let explorer = of_chain(Flavour::Etherscan, on).await;
        let mut reader = reader(devnet, &explorer).started().await;
        let send =
            async || on.send(wallet, Address::repeat_byte(0x77), Vec::<u8>::new(), Default::default()).await.unwrap();
        let current = async |reader: &super::Reader, what: &str| {
            let snapshot = reader.read(wallet).await;
            let read = chain(&snapshot, ETHEREUM);
            assert_eq!(read.coverage, Coverage::Complete, "{what}");
            same(&read.activity, &count(&blocks(on).await, wallet), what);
            read.activity.clone()
        };
        let before = current(&reader, "before").await;
        let first: Vec<_> = explorer.take().iter().map(|asked| asked.startblock).collect();
        assert_eq!(first, [0; 4]);

        reader.restart().await;
        current(&reader, "after a restart").await;
        let again = explorer.take();
        assert!(again.len() == 4 && again.iter().any(|asked| asked.startblock > 0), "{again:?}");

        let here = on.snapshot().await.unwrap();
        send().await;
        let after = current(&reader, "one more").await;
        assert_eq!(after.transactions, before.transactions + 1);
        on.revert(here).await.unwrap();
        on.mine(1).await.unwrap();
        assert_eq!(current(&reader, "reorganised").await, before);

        // A reorganised chain, in which a settled block has another time.
        let here = on.snapshot().await.unwrap();
        send().await;
        on.mine(40).await.unwrap();
        current(&reader, "settled").await;
        on.revert(here).await.unwrap();
        on.pass(1_000).await.unwrap();
        on.mine(60).await.unwrap();
        assert_eq!(current(&reader, "another chain").await, before);
        on.revert(here).await.unwrap();
    });
}
