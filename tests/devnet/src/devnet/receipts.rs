//! Lending events, counted from the receipts of every block. Tests compare the server's results with them. This module
//! never queries logs by filter, and shares no code with the server.

use std::collections::HashMap;

use alloy::primitives::{Address, B256};
use alloy::sol;
use alloy::sol_types::SolEvent;
use serde::Deserialize;
use serde_json::json;

use super::rpc::Request;
use super::{Chain, Error};

sol! {
    event Supply(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
        uint16 indexed referralCode);
    event Withdraw(address indexed reserve, address indexed user, address indexed to, uint256 amount);
    event Borrow(address indexed reserve, address user, address indexed onBehalfOf, uint256 amount,
        uint8 interestRateMode, uint256 borrowRate, uint16 indexed referralCode);
    event Repay(address indexed reserve, address indexed user, address indexed repayer, uint256 amount,
        bool useATokens);
    event LiquidationCall(address indexed collateralAsset, address indexed debtAsset, address indexed user,
        uint256 debtToCover, uint256 liquidatedCollateralAmount, address liquidator, bool receiveAToken);
}

/// The events of a wallet in the market of one chain, liquidations included. Times are in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LendingEvents {
    pub supply: u64,
    pub withdraw: u64,
    pub borrow: u64,
    pub repay: u64,
    pub liquidation: u64,
    pub first: Option<u64>,
    pub last: Option<u64>,
    pub last_liquidation: Option<u64>,
}

impl LendingEvents {
    pub fn total(&self) -> u64 {
        self.supply + self.withdraw + self.borrow + self.repay + self.liquidation
    }
}

/// A wallet's transactions: how many it sent, and when the first and the last were mined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sent {
    pub transactions: u64,
    pub first: Option<Moment>,
    pub last: Option<Moment>,
}

/// A block and its time in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    pub block: u64,
    pub time: u64,
}

/// The counts so far, and the next block to count.
#[derive(Debug, Default)]
pub(super) struct Counted {
    next_block: u64,
    /// Hash of the block before `next_block`. Another hash means that the chain was reverted.
    last_hash: Option<B256>,
    events: HashMap<Address, LendingEvents>,
    sent: HashMap<Address, Sent>,
}

/// The lending events of `wallet`: supplies and borrowings count for the account they were made for, other events for
/// the user. One pass counts all wallets, and later calls continue it.
///
/// # Errors
/// When the node does not answer.
pub async fn lending_events(chain: &Chain, wallet: Address) -> Result<LendingEvents, Error> {
    let mut counted = chain.counted.lock().await;
    counted.catch_up(chain).await?;
    Ok(counted.events.get(&wallet).copied().unwrap_or_default())
}

/// The transactions that `wallet` sent.
///
/// # Errors
/// When the node does not answer.
pub async fn sent(chain: &Chain, wallet: Address) -> Result<Sent, Error> {
    let mut counted = chain.counted.lock().await;
    counted.catch_up(chain).await?;
    Ok(counted.sent.get(&wallet).copied().unwrap_or_default())
}

#[derive(Deserialize)]
struct Block {
    hash: B256,
    timestamp: alloy::primitives::U64,
}

#[derive(Deserialize)]
struct Receipt {
    from: Address,
    status: alloy::primitives::U64,
    logs: Vec<Log>,
}

#[derive(Deserialize)]
struct Log {
    address: Address,
    topics: Vec<B256>,
}

impl Counted {
    async fn catch_up(&mut self, chain: &Chain) -> Result<(), Error> {
        if let Some(known) = self.last_hash {
            let there: Option<Block> =
                chain.rpc.request("eth_getBlockByNumber", json!([quantity(self.next_block - 1), false])).await?;
            if there.is_none_or(|block| block.hash != known) {
                *self = Self::default();
            }
        }
        let (head, _) = chain.head().await?;
        let numbers: Vec<u64> = (self.next_block..=head).collect();
        let ask = |method, more: Option<bool>| -> Vec<Request> {
            let params = |n: &u64| more.map_or_else(|| json!([quantity(*n)]), |more| json!([quantity(*n), more]));
            numbers.iter().map(|n| (method, params(n))).collect()
        };
        let blocks: Vec<Block> = chain.rpc.batch(&ask("eth_getBlockByNumber", Some(false))).await?;
        let receipts: Vec<Vec<Receipt>> = chain.rpc.batch(&ask("eth_getBlockReceipts", None)).await?;
        for ((number, block), receipts) in numbers.iter().zip(&blocks).zip(receipts) {
            let at = Moment { block: *number, time: block.timestamp.to() };
            for receipt in receipts {
                self.count(chain.market.pool, at, &receipt);
            }
            self.last_hash = Some(block.hash);
        }
        self.next_block = head + 1;
        Ok(())
    }

    fn count(&mut self, pool: Address, at: Moment, receipt: &Receipt) {
        let sent = self.sent.entry(receipt.from).or_default();
        sent.transactions += 1;
        sent.first.get_or_insert(at);
        sent.last = Some(at);
        // A failed transaction has no logs.
        if receipt.status.is_zero() {
            return;
        }
        for log in receipt.logs.iter().filter(|log| log.address == pool) {
            let Some(kind) = log.topics.first().copied() else { continue };
            let topic = if kind == LiquidationCall::SIGNATURE_HASH { 3 } else { 2 };
            let Some(owner) = log.topics.get(topic).map(|word| Address::from_word(*word)) else { continue };
            let mut events = self.events.get(&owner).copied().unwrap_or_default();
            match kind {
                Supply::SIGNATURE_HASH => events.supply += 1,
                Withdraw::SIGNATURE_HASH => events.withdraw += 1,
                Borrow::SIGNATURE_HASH => events.borrow += 1,
                Repay::SIGNATURE_HASH => events.repay += 1,
                LiquidationCall::SIGNATURE_HASH => {
                    events.liquidation += 1;
                    events.last_liquidation = Some(at.time);
                }
                _ => continue,
            }
            events.first.get_or_insert(at.time);
            events.last = Some(at.time);
            self.events.insert(owner, events);
        }
    }
}

fn quantity(number: u64) -> String {
    format!("{number:#x}")
}
