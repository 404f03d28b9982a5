//! What wallets did on public chains, by receipts of real transactions: the shipped markets, the topics and whose an
//! event is. A receipt is one transaction of a wallet, so its position is not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, B256, keccak256};
use assay_domain::EventCounts;
use assay_tests::receipts::{self, Expected, Transaction};
use futures::future::join_all;

use super::{RUNTIME, Reader};

/// Chains and markets in the receipts that no shipped list has.
const NOT_SHIPPED: [(u64, &str); 3] = [
    (1, "0xc13e21b648a5ee794902342038ff3adab66be987"),
    (100, "0xb50201558b00496a145fe76f7424749556e326d8"),
    (42161, "0x6c247b1f6182318877311737bac0844baa518f5e"),
];

/// Events that no topic of a log names, and that only the position would show: a repayment to cETH before COMP was
/// distributed.
const UNSEEN: [&str; 1] = ["0x0007416c8caa441ce07c61dbf2455b3068d21d9bffbfbbfca9f1016d7c3ca33f"];

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
            let is_it = |(on, market): &(u64, &str)| *on == chain && row.contract == market.parse::<Address>().unwrap();
            let is_unseen = UNSEEN.iter().any(|unseen| row.transaction.to_string() == *unseen);
            row.chain_id == chain && !is_unseen && !NOT_SHIPPED.iter().any(is_it)
        };
        let rows: Vec<&Expected> = expected.iter().filter(is_shipped).collect();
        if rows.is_empty() {
            assert!(NOT_SHIPPED.iter().any(|(on, _)| *on == chain), "{chain}");
            continue;
        }
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
