//! What wallets did on public chains, by receipts of real transactions: the shipped markets, the topics and whose an
//! event is. A receipt is one transaction of a wallet, so its position is not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, B256, keccak256};
use assay::config::Config;
use assay_domain::{EventCounts, Protocol};
use assay_lending::config::MarketConfig;
use assay_tests::proxy::Call;
use assay_tests::receipts::{self, Expected, Transaction};
use futures::future::join_all;

use super::{RUNTIME, Reader};

/// Events that no log names in a topic, so that only the position would show them: a repayment to cETH and a borrow
/// from it, both before COMP was distributed.
const UNSEEN: [&str; 2] = [
    "0x0007416c8caa441ce07c61dbf2455b3068d21d9bffbfbbfca9f1016d7c3ca33f",
    "0x00035065f364453ca4585ab5d4ee7dacc59a3f7acc305644c334fdfff3a2527f",
];

/// By wallet and market. `None` for a kind that a protocol's reading does not count.
type Lived = BTreeMap<(Address, Address), EventCounts>;

fn config(chain: u64, rpc: &str, store: &Path) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n[models]\nshelf = \"plugins\"\n[store]\nbackend = \"embedded\"\npath = {store:?}\n\
         [[access.keys]]\nname = \"test\"\nkey = \"a-key-for-tests\"\nscopes = [\"read\"]\n\
         [[chains]]\nid = {chain}\nrpc = [\"{rpc}\"]\n"
    )
}

fn sum(rows: &[&Expected]) -> Lived {
    let mut lived = Lived::new();
    for row in rows {
        // The contract logs a repayment with each liquidation.
        let is_beside = |other: &&Expected| {
            other.kind == "liquidation" && (other.transaction, other.wallet) == (row.transaction, row.wallet)
        };
        if row.protocol == "lenderB_v2" && row.kind == "repay" && rows.iter().copied().any(|other| is_beside(&other)) {
            continue;
        }
        let counts = lived.entry((row.wallet, row.contract)).or_insert(EventCounts::ZERO);
        let count = match row.kind.as_str() {
            "supply" => &mut counts.supply,
            "withdraw" => &mut counts.withdraw,
            "borrow" => &mut counts.borrow,
            "repay" => &mut counts.repay,
            "liquidation" => &mut counts.liquidation,
            kind => panic!("{kind}"),
        };
        *count = Some(count.unwrap_or_default() + row.count);
    }
    lived
}

/// The wallets of all rows, the senders, and those whom a pool names in a withdrawal, such as gateways.
fn wallets(transactions: &[Transaction], rows: &[&Expected]) -> BTreeSet<Address> {
    let withdrawn = keccak256("Withdraw(address,address,address,uint256)").to_string();
    let users = transactions.iter().flat_map(|known| &known.receipt.logs).filter_map(|log| {
        let word = (log["topics"][0] == withdrawn.as_str()).then(|| log["topics"][2].as_str())??;
        Some(Address::from_word(word.parse::<B256>().ok()?))
    });
    let senders = transactions.iter().map(|known| known.receipt.from);
    users.chain(senders).chain(rows.iter().map(|row| row.wallet)).collect()
}

/// The counts by kind, without those that are not counted: Compound v2 logs supplies without naming the wallet.
fn counted(counts: EventCounts, protocol: &str) -> [Option<u64>; 5] {
    let supplies = [counts.supply, counts.withdraw].map(|count| count.filter(|_| protocol != "lenderB_v2"));
    let [supply, withdraw] = supplies;
    [supply, withdraw, counts.borrow, counts.repay, counts.liquidation]
}

/// What is read of all wallets on a chain.
async fn read(chain: u64, wallets: &BTreeSet<Address>) -> Lived {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let node = receipts::start(chain, now).await;
    let reader = Reader::configured(|store| config(chain, &node.url, store)).started().await;
    let reads = join_all(wallets.iter().map(async |wallet| (*wallet, reader.read(*wallet).await))).await;
    let mut lived = Lived::new();
    for (wallet, snapshot) in reads {
        for pool in &snapshot.chains[0].pools {
            let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
            if [supply, withdraw, borrow, repay, liquidation].iter().any(|count| count.is_some_and(|count| count > 0)) {
                lived.insert((wallet, pool.market_address), pool.counts);
            }
        }
    }
    lived
}

#[test]
fn every_wallet_in_a_receipt_did_what_the_contracts_logged() {
    let (transactions, expected) = (receipts::transactions(), receipts::expected());
    let chains: BTreeSet<u64> = transactions.iter().map(|known| known.chain_id).collect();
    let mut wrong = Vec::new();
    for chain in chains {
        let is_shipped = |row: &&Expected| {
            let is_unseen = UNSEEN.iter().any(|unseen| row.transaction.to_string() == *unseen);
            row.chain_id == chain && !is_unseen
        };
        let rows: Vec<&Expected> = expected.iter().filter(is_shipped).collect();
        let own: Vec<_> = transactions.iter().filter(|known| known.chain_id == chain).cloned().collect();
        let (lived, told) = RUNTIME.block_on(async { (sum(&rows), read(chain, &wallets(&own, &rows)).await) });
        for key in lived.keys().chain(told.keys()).collect::<BTreeSet<_>>() {
            let protocol = rows.iter().find(|row| row.contract == key.1).map_or("", |row| row.protocol.as_str());
            let of = |lived: &Lived| counted(lived.get(key).copied().unwrap_or(EventCounts::ZERO), protocol);
            let (lived, told) = (of(&lived), of(&told));
            if lived != told {
                wrong.push(format!("chain {chain}, wallet {}, market {}: {told:?} instead of {lived:?}", key.0, key.1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Whether a market is one of those that are read and never fed the score.
fn is_more(chain: u64, market: &MarketConfig) -> bool {
    match market.protocol {
        Protocol::MorphoBlue => chain != 1 && chain != 8453,
        Protocol::LenderBV2 => chain == 56,
        Protocol::Fluid => true,
        Protocol::LenderAV3 => market.feeds_score == Some(false),
        _ => false,
    }
}

/// The calls, the requests and the log queries for a new wallet that did nothing, on a chain whose terms are known.
async fn cost(chain: u64, has_more: bool) -> [usize; 3] {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let node = receipts::start(chain, now).await;
    let only = |config: &mut Config| config.chains[0].markets.retain(|market| has_more || !is_more(chain, market));
    let reader = Reader::configured(|store| config(chain, &node.url, store)).with(only).started().await;
    reader.read_for_a_score(Address::repeat_byte(0x51)).await;
    node.take();
    reader.read_for_a_score(Address::repeat_byte(0x52)).await;
    let calls = node.take();
    let requests: BTreeSet<u64> = calls.iter().map(|call| call.request).collect();
    [calls.len(), requests.len(), calls.iter().filter_map(Call::span).count()]
}

#[test]
fn a_new_wallet_costs_hardly_more_with_the_markets_that_it_does_not_use() {
    let (mut before, mut after) = ([0; 3], [0; 3]);
    for chain in [1, 10, 56, 137, 8453, 42_161, 534_352] {
        for (sum, has_more) in [(&mut before, false), (&mut after, true)] {
            let cost = RUNTIME.block_on(cost(chain, has_more));
            println!("chain {chain}, all markets {has_more}: {cost:?}");
            sum.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += cost);
        }
    }
    println!("calls, requests and log queries: {after:?} instead of {before:?}");
    assert!(after.iter().zip(before).all(|(after, before)| after * 100 <= before * 115), "{after:?} {before:?}");
}
