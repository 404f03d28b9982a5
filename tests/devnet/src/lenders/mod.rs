//! A small chain for what the devnet does not have: an empty node, on which a test deploys markets and sends
//! transactions, one in a block, a day apart; or the end of a seeded chain of the devnet, with its blocks ten minutes
//! apart.

pub mod aave_v2;
pub mod busy;
pub mod comet;
pub mod config;
pub mod ctoken;
pub mod euler;
pub mod maker;
pub mod morpho;
pub mod solc;

use std::time::{SystemTime, UNIX_EPOCH};

use alloy::primitives::{Address, B256, Bytes, U64, U256};
use alloy::sol_types::SolCall;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::devnet::sender::{Sender, Tx};
use crate::devnet::{Error, Rpc, aave, actors};
use crate::node::{self, Anvil, Order};

const DAY: u64 = 86_400;
/// Between two blocks at the end of a seeded chain.
const TEN_MINUTES: u64 = 600;
/// Days between the first block and now.
const DAYS: u64 = 400;

/// Ends when dropped.
#[derive(Debug)]
pub struct Small {
    pub rpc: Rpc,
    url: String,
    /// None where it is the devnet's.
    _node: Option<Anvil>,
    sender: Sender,
    /// Seconds between two blocks.
    step: u64,
    /// Time of the newest block, in seconds since 1970.
    now: u64,
    /// Number of the newest block.
    pub head: u64,
}

/// A log in a receipt.
#[derive(Debug, Clone, Deserialize)]
pub struct Log {
    pub address: Address,
    pub topics: Vec<B256>,
    pub data: Bytes,
}

#[derive(Debug, Deserialize)]
struct Receipt {
    logs: Vec<Log>,
}

#[derive(Deserialize)]
struct Block {
    number: U64,
    timestamp: U64,
}

impl Small {
    /// # Errors
    /// When npm or the node fails.
    pub async fn start(id: u64) -> Result<Self, Error> {
        Self::start_in(Order::Arrival, id).await
    }

    /// As [`start`](Self::start), with this order of transactions.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub async fn start_in(order: Order, id: u64) -> Result<Self, Error> {
        let genesis = present() - DAYS * DAY;
        let started = tokio::task::spawn_blocking(move || Anvil::start_in(order, id, genesis)).await;
        let node = started.map_err(|e| Error::Task(e.to_string()))??;
        let rpc = Rpc::new(node.url())?;
        let _: Value = rpc.request("anvil_setLoggingEnabled", json!([false])).await?;
        let (sender, url) = (Sender::new(rpc.clone()), node.url().to_owned());
        Ok(Self { rpc, url, _node: Some(node), sender, step: DAY, now: genesis, head: 0 })
    }

    /// The end of a chain whose blocks so far `sender` has mined.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn continued(rpc: &Rpc, url: &str, sender: Sender) -> Result<Self, Error> {
        let block: Block = rpc.request("eth_getBlockByNumber", json!(["latest", false])).await?;
        let (now, head) = (block.timestamp.to(), block.number.to());
        Ok(Self { rpc: rpc.clone(), url: url.to_owned(), _node: None, sender, step: TEN_MINUTES, now, head })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Deploys the real contracts of Aave v3 in the first blocks, and returns the address of the pool.
    ///
    /// # Errors
    /// When a package is missing or a transaction fails.
    pub async fn aave_v3(&mut self) -> Result<Address, Error> {
        Ok(self.aave_v3_market().await?.pool)
    }

    /// As [`aave_v3`](Self::aave_v3), with all its contracts. A chain may have several.
    ///
    /// # Errors
    /// As [`aave_v3`](Self::aave_v3).
    pub async fn aave_v3_market(&mut self) -> Result<aave::Market, Error> {
        let modules = tokio::task::spawn_blocking(node::packages).await.map_err(|e| Error::Task(e.to_string()))??;
        let market = aave::deploy(&self.rpc, &modules, &mut self.sender, self.now).await?;
        let head: U64 = self.rpc.request("eth_blockNumber", json!([])).await?;
        self.head = head.to();
        Ok(market)
    }

    /// Queues the creation of a contract by the deployer, and returns its future address.
    pub fn create(&mut self, code: impl Into<Bytes>, label: &str) -> Address {
        self.sender.create(actors::address(actors::DEPLOYER), code.into(), label)
    }

    /// Queues a call.
    pub fn queue<C: SolCall>(&mut self, from: Address, to: Address, call: &C) {
        self.sender.queue(Tx::call(from, to, call.abi_encode(), C::SIGNATURE));
    }

    /// Queues a call with native currency, which is first credited to `from`.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn queue_paid<C: SolCall>(
        &mut self,
        from: Address,
        to: Address,
        call: &C,
        value: U256,
    ) -> Result<(), Error> {
        let _: Value = self.rpc.request("anvil_setBalance", json!([from, value])).await?;
        self.sender.queue(Tx { value, ..Tx::call(from, to, call.abi_encode(), C::SIGNATURE) });
        Ok(())
    }

    /// Queues a payment in native currency, which is first credited to `from`.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn queue_payment(&mut self, from: Address, to: Address, value: U256) -> Result<(), Error> {
        let held: U256 = self.rpc.request("eth_getBalance", json!([from, "latest"])).await?;
        let _: Value = self.rpc.request("anvil_setBalance", json!([from, held + value + value])).await?;
        self.sender.queue(Tx { value, ..Tx::call(from, to, Vec::new(), "a payment") });
        Ok(())
    }

    /// Mines what is queued, a day after the last block.
    ///
    /// # Errors
    /// When a transaction fails.
    pub async fn mine(&mut self) -> Result<(), Error> {
        self.mine_at(self.now + self.step).await
    }

    /// Mines what is queued at the present time, from which the node's clock goes on.
    ///
    /// # Errors
    /// When a transaction fails, or the chain is already ahead of the present.
    pub async fn arrive(&mut self) -> Result<(), Error> {
        self.mine_at(present()).await
    }

    /// Mines what is queued at a time so many seconds before now.
    ///
    /// # Errors
    /// When a transaction fails, or the chain is already later.
    pub async fn mine_before_now(&mut self, seconds: u64) -> Result<(), Error> {
        self.mine_at(present() - seconds).await
    }

    async fn mine_at(&mut self, time: u64) -> Result<(), Error> {
        self.now = time;
        self.head += 1;
        self.sender.mine(time).await
    }

    /// Time of the newest block, in seconds since 1970.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Mines one call, a day after the last block.
    ///
    /// # Errors
    /// When it fails.
    pub async fn call<C: SolCall>(&mut self, from: Address, to: Address, call: &C) -> Result<(), Error> {
        self.queue(from, to, call);
        self.mine().await
    }

    /// The result of a view function at the end of a block.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn view<C: SolCall>(&self, to: Address, call: &C, block: u64) -> Result<C::Return, Error> {
        let ask = json!([{ "to": to, "data": Bytes::from(call.abi_encode()) }, format!("{block:#x}")]);
        let answer: Bytes = self.rpc.request("eth_call", ask).await?;
        C::abi_decode_returns(&answer).map_err(|e| Error::Rpc(format!("{} at {to}: {e}", C::SIGNATURE)))
    }

    /// Time of a block and the logs in its receipts.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn block(&self, number: u64) -> Result<(u64, Vec<Log>), Error> {
        let at = format!("{number:#x}");
        let receipts: Vec<Receipt> = self.rpc.request("eth_getBlockReceipts", json!([at])).await?;
        let block: Value = self.rpc.request("eth_getBlockByNumber", json!([at, false])).await?;
        let time =
            block["timestamp"].as_str().and_then(|hex| u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok());
        let time = time.ok_or_else(|| Error::Rpc("a block without time".to_owned()))?;
        Ok((time, receipts.into_iter().flat_map(|receipt| receipt.logs).collect()))
    }

    /// Time and logs of every block, by its number.
    ///
    /// # Errors
    /// When the node does not answer.
    pub async fn blocks(&self) -> Result<Vec<(u64, Vec<Log>)>, Error> {
        let mut blocks = Vec::new();
        for number in 0..=self.head {
            blocks.push(self.block(number).await?);
        }
        Ok(blocks)
    }
}

fn present() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}

/// The creation code of the contracts in a file of `contracts/`.
///
/// # Errors
/// When they cannot be compiled.
pub async fn stubs(file: &'static str) -> Result<std::collections::BTreeMap<String, Bytes>, Error> {
    let compiled = tokio::task::spawn_blocking(move || {
        node::packages()?;
        solc::compile(file)
    });
    compiled.await.map_err(|e| Error::Task(e.to_string()))?
}
