//! The events on the chain, taken from the receipts of every block: without log queries and without code of the server.

use std::collections::{BTreeSet, HashMap};

use alloy::primitives::{Address, B256, Bytes, U64, U256};
use alloy::sol_types::SolEvent;
use serde::Deserialize;
use serde_json::json;

use crate::devnet::receipts::{Borrow, LiquidationCall, Repay, Supply, Withdraw};
use crate::devnet::{Chain, Error};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Supply,
    Withdraw,
    Borrow,
    Repay,
    Liquidation,
}

/// An event of a wallet in the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    pub block: u64,
    /// Seconds since 1970.
    pub time: u64,
    pub kind: Kind,
    /// The reserve and the amount; of the debt for a liquidation.
    pub asset: Address,
    pub amount: U256,
}

/// All events up to the head.
#[derive(Debug)]
pub struct Ledger {
    /// Hash and time of each block, indexed by number.
    pub blocks: Vec<(B256, u64)>,
    pub events: HashMap<Address, Vec<Event>>,
    /// For each account, the blocks of the transactions that it sent.
    pub sent: HashMap<Address, Vec<u64>>,
}

#[derive(Deserialize)]
struct Block {
    hash: B256,
    timestamp: U64,
}

#[derive(Deserialize)]
struct Receipt {
    from: Address,
    logs: Vec<Log>,
}

#[derive(Deserialize)]
struct Log {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
}

impl Ledger {
    /// # Errors
    /// If the node does not answer.
    pub async fn of(chain: &Chain) -> Result<Self, Error> {
        let numbers: Vec<String> = (0..=chain.head().await?.0).map(|number| format!("{number:#x}")).collect();
        let heads: Vec<_> = numbers.iter().map(|number| ("eth_getBlockByNumber", json!([number, false]))).collect();
        let bodies: Vec<_> = numbers.iter().map(|number| ("eth_getBlockReceipts", json!([number]))).collect();
        let blocks: Vec<Block> = chain.rpc.batch(&heads).await?;
        let receipts: Vec<Vec<Receipt>> = chain.rpc.batch(&bodies).await?;
        let mut ledger = Self {
            blocks: blocks.iter().map(|block| (block.hash, block.timestamp.to())).collect(),
            events: HashMap::new(),
            sent: HashMap::new(),
        };
        for (number, receipts) in (0..).zip(receipts) {
            for receipt in receipts {
                ledger.sent.entry(receipt.from).or_default().push(number);
                for log in receipt.logs.iter().filter(|log| log.address == chain.market.pool) {
                    ledger.add(number, log);
                }
            }
        }
        Ok(ledger)
    }

    /// Returns the last block before a time.
    pub fn before(&self, moment: u64) -> u64 {
        self.blocks.iter().take_while(|(_, time)| *time < moment).count().saturating_sub(1) as u64
    }

    /// Returns the events of a wallet up to a block.
    pub fn through(&self, wallet: Address, block: u64) -> Vec<Event> {
        let all = self.events.get(&wallet).into_iter().flatten();
        all.filter(|event| event.block <= block).copied().collect()
    }

    /// Returns the number of transactions of a wallet up to a block.
    pub fn nonce(&self, wallet: Address, block: u64) -> usize {
        self.sent.get(&wallet).into_iter().flatten().filter(|sent| **sent <= block).count()
    }

    /// Whether a wallet was liquidated between `from`, inclusive, and `until`, exclusive.
    pub fn liquidated(&self, wallet: Address, from: u64, until: u64) -> bool {
        let all = self.events.get(&wallet).into_iter().flatten();
        all.into_iter().any(|event| event.kind == Kind::Liquidation && (from..until).contains(&event.time))
    }

    /// Returns all wallets with an event.
    pub fn wallets(&self) -> BTreeSet<Address> {
        self.events.keys().copied().collect()
    }

    fn add(&mut self, block: u64, log: &Log) {
        // The topics with the wallet and the reserve, and the data word with the amount.
        let (kind, wallet, asset, word) = match log.topics.first() {
            Some(&Supply::SIGNATURE_HASH) => (Kind::Supply, 2, 1, 1),
            Some(&Withdraw::SIGNATURE_HASH) => (Kind::Withdraw, 2, 1, 0),
            Some(&Borrow::SIGNATURE_HASH) => (Kind::Borrow, 2, 1, 1),
            Some(&Repay::SIGNATURE_HASH) => (Kind::Repay, 2, 1, 0),
            Some(&LiquidationCall::SIGNATURE_HASH) => (Kind::Liquidation, 3, 2, 0),
            _ => return,
        };
        let of = |topic: usize| log.topics.get(topic).map_or(Address::ZERO, |word| Address::from_word(*word));
        let amount = log.data.get(word * 32..(word + 1) * 32).map(U256::from_be_slice).unwrap_or_default();
        let time = self.blocks.get(block as usize).map_or(0, |(_, time)| *time);
        self.events.entry(of(wallet)).or_default().push(Event { block, time, kind, asset: of(asset), amount });
    }
}
