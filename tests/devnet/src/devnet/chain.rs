//! One chain of the devnet: its node, its market, and the operations for tests.

use std::sync::Mutex;

use alloy::primitives::{Address, B256, Bytes, U256};
use serde_json::{Value, json};

use super::aave::{self, Market};
use super::actors::{self, DEPLOYER};
use super::life::Step;
use super::receipts::Counted;
use super::rpc::Rpc;
use super::sender::{self, Sender};
use super::{Error, Progress, Stage, feed, seed, weather};
use crate::lenders::Small;
use crate::node::{self, Anvil};

#[derive(Debug)]
pub struct Chain {
    pub id: u64,
    pub name: &'static str,
    pub market: Market,
    pub rpc: Rpc,
    url: String,
    node: Mutex<Option<Anvil>>,
    pub(super) counted: tokio::sync::Mutex<Counted>,
}

impl Chain {
    /// Also does `more` at the end of the history, and returns what that did.
    pub(super) async fn start<T>(
        (id, name): (u64, &'static str),
        steps: Vec<Step>,
        now: u64,
        progress: impl Fn(Progress) + Send + 'static,
        more: impl AsyncFnOnce(&mut Small) -> Result<T, Error>,
    ) -> Result<(Self, T), Error> {
        let tell = |stage, done, total| progress(Progress { chain_id: id, stage, done, total });
        let (chain, sender) = Self::seeded((id, name), &steps, now, tell).await?;
        tell(Stage::Furnishing, 0, 1);
        let done = more(&mut Small::continued(&chain.rpc, &chain.url, sender).await?).await?;
        chain.arrive().await?;
        tell(Stage::Ready, 1, 1);
        Ok((chain, done))
    }

    /// A chain on which `steps` happened before `now`, in seconds since 1970, and the sender of its transactions.
    pub async fn seeded(
        (id, name): (u64, &'static str),
        steps: &[Step],
        now: u64,
        tell: impl Fn(Stage, usize, usize),
    ) -> Result<(Self, Sender), Error> {
        tell(Stage::Starting, 0, 1);
        let genesis = now - (weather::YEARS * 86_400.0) as u64;
        let started =
            tokio::task::spawn_blocking(move || Ok::<_, node::Error>((Anvil::start(id, genesis)?, node::packages()?)));
        let (node, modules) = started.await.map_err(|e| Error::Task(e.to_string()))??;
        let url = node.url().to_owned();
        let rpc = Rpc::new(&url)?;
        let _: Value = rpc.request("anvil_setLoggingEnabled", json!([false])).await?;
        for actor in [DEPLOYER, actors::FAUCET, actors::BANK, actors::LIQUIDATOR] {
            let plenty = U256::from(1_000_000) * U256::from(10).pow(U256::from(18));
            let _: Value = rpc.request("anvil_setBalance", json!([actors::address(actor), plenty])).await?;
        }

        tell(Stage::Deploying, 0, 1);
        let mut sender = Sender::new(rpc.clone());
        let market = aave::deploy(&rpc, &modules, &mut sender, genesis).await?;
        seed::run(&rpc, &market, &mut sender, steps, now, |done, total| tell(Stage::Seeding, done, total)).await?;
        let chain =
            Self { id, name, market, rpc, url, node: Mutex::new(Some(node)), counted: tokio::sync::Mutex::default() };
        Ok((chain, sender))
    }

    /// From here on the node uses the real time, and mines each transaction.
    pub async fn arrive(&self) -> Result<(), Error> {
        self.mine_at(unix_now()).await?;
        self.rpc.request::<Value>("evm_setAutomine", json!([true])).await.map(drop)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Mines empty blocks, one second apart.
    pub async fn mine(&self, blocks: u64) -> Result<(), Error> {
        self.rpc.request::<Value>("anvil_mine", json!([U256::from(blocks)])).await.map(drop)
    }

    /// Mines one block with this time, in seconds since 1970, which must be later than the last one's. The node's clock
    /// goes on from there.
    pub async fn mine_at(&self, time: u64) -> Result<(), Error> {
        let _: Value = self.rpc.request("evm_setNextBlockTimestamp", json!([time])).await?;
        self.rpc.request::<Value>("evm_mine", json!([])).await.map(drop)
    }

    /// Moves the node's clock forward and mines a block there.
    pub async fn pass(&self, seconds: u64) -> Result<(), Error> {
        let _: Value = self.rpc.request("evm_increaseTime", json!([seconds])).await?;
        self.mine(1).await
    }

    /// Number and time (seconds since 1970) of the newest block.
    pub async fn head(&self) -> Result<(u64, u64), Error> {
        let block: Value = self.rpc.request("eth_getBlockByNumber", json!(["latest", false])).await?;
        let field = |name: &str| {
            block[name].as_str().and_then(|hex| u64::from_str_radix(hex.trim_start_matches("0x"), 16).ok())
        };
        field("number").zip(field("timestamp")).ok_or_else(|| Error::Rpc("a block without number or time".to_owned()))
    }

    /// Sends a transaction from any account, without its key, and mines it.
    ///
    /// # Errors
    /// When it fails, with the reason.
    pub async fn send(&self, from: Address, to: Address, data: impl Into<Bytes>, value: U256) -> Result<B256, Error> {
        // The node's own estimate is of a block that has the last one's time, in which a pool has no interest to add.
        let gas = U256::from(sender::GAS);
        let fields =
            json!({ "from": from, "to": to, "data": data.into(), "value": value, "gas": gas, "gasPrice": "0x0" });
        // Refuses a failing transaction at once, with the reason.
        let _: Bytes = self.rpc.request("eth_call", json!([fields, "latest"])).await?;
        let hash: B256 = self.rpc.request("eth_sendTransaction", json!([fields])).await?;
        let _: Value = self.rpc.request("evm_mine", json!([])).await?;
        let receipt: Value = self.rpc.request("eth_getTransactionReceipt", json!([hash])).await?;
        if receipt["status"] == "0x1" {
            Ok(hash)
        } else {
            Err(Error::Reverted { what: format!("{from} to {to}"), why: receipt.to_string() })
        }
    }

    /// Sets the price of a token (and of ether with WETH), in dollars, for the oracle and the feed.
    pub async fn set_price(&self, symbol: &str, dollars: f64) -> Result<(), Error> {
        let token = self.market.token(symbol).ok_or_else(|| Error::Unknown(symbol.to_owned()))?;
        let native = token.asset.wraps_native.then_some(self.market.native_feed);
        for feed in token.feed.into_iter().chain(native) {
            self.send(actors::address(DEPLOYER), feed, feed::set(dollars, 0), U256::ZERO).await?;
        }
        Ok(())
    }

    /// A state of the chain for [`Self::revert`].
    pub async fn snapshot(&self) -> Result<U256, Error> {
        self.rpc.request("evm_snapshot", json!([])).await
    }

    pub async fn revert(&self, to: U256) -> Result<(), Error> {
        self.rpc.request::<Value>("evm_revert", json!([to])).await.map(drop)
    }

    /// Kills the node.
    pub fn stop(&self) {
        if let Ok(mut node) = self.node.lock() {
            drop(node.take());
        }
    }
}

fn unix_now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map(|d| d.as_secs()).unwrap_or_default()
}
