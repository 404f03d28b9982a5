//! An economy to fit models on: a chain with the real Aave v3 contracts, on which borrowers with different leverage and
//! assets go through two falls of prices. They repay, borrow more, and close and open loans; a liquidator liquidates
//! accounts below the threshold. The same seed reproduces every event with its block and amount; only the order within
//! a block may differ.

mod account;
mod borrower;
mod ledger;
mod life;
mod prices;

use std::path::Path;

use alloy::primitives::Address;

pub use account::Account;
pub use ledger::{Event, Kind, Ledger};
use prices::Prices;

use crate::devnet::{Chain, ETHEREUM, Error, config, weather};

const DAY: u64 = 86_400;
const WEEK: u64 = 7 * DAY;
/// Duration in weeks.
const WEEKS: u64 = 70;
/// The end, 2025-06-30. The date is fixed to make the times reproducible.
const END: u64 = 1_751_241_600;
/// The time of the first price.
const START: u64 = END - WEEKS * WEEK;
/// Blocks until finality in the configuration, and some more.
const SETTLING: u64 = 20;

/// The running chain and its borrowers.
#[derive(Debug)]
pub struct Economy {
    pub chain: Chain,
    pub borrowers: Vec<Address>,
    /// Total number of liquidations.
    pub liquidations: usize,
}

impl Economy {
    /// Starts a node and runs the whole economy.
    ///
    /// # Errors
    /// If a package is missing, or the node or a transaction fails.
    pub async fn start(borrowers: u64, seed: u64) -> Result<Self, Error> {
        Self::along(borrowers, seed, prices::path(seed, false)).await
    }

    /// Like [`start`](Self::start), only through the first fall; if `is_calm`, prices do not fall.
    ///
    /// # Errors
    /// Those of [`start`](Self::start).
    pub async fn start_short(borrowers: u64, seed: u64, is_calm: bool) -> Result<Self, Error> {
        let [(first, fall), _] = prices::FALLS;
        let path = prices::path(seed, is_calm).into_iter().take(first as usize + fall.len()).collect();
        Self::along(borrowers, seed, path).await
    }

    async fn along(borrowers: u64, seed: u64, path: Vec<Prices>) -> Result<Self, Error> {
        let all = borrower::all(borrowers, seed);
        let addresses = all.iter().map(|borrower| borrower.address).collect();
        let steps = weather::liquidity(ETHEREUM);
        let (chain, sender) = Chain::seeded((ETHEREUM, "Ethereum"), &steps, END, |_, _, _| ()).await?;
        let liquidations = life::run(&chain, sender, all, path).await?;
        chain.arrive().await?;
        chain.mine(SETTLING).await?;
        Ok(Self { chain, borrowers: addresses, liquidations })
    }

    /// Returns midnight this many days after the start, in Unix seconds.
    pub fn day(day: u64) -> u64 {
        START + day * DAY
    }

    /// Returns the day on which a fall, 0 or 1, begins.
    pub fn fall(which: usize) -> u64 {
        prices::FALLS[which].0 * 7
    }

    /// Returns a configuration with only this chain, and with the market index in the server's folder.
    pub fn config_toml(&self, shelf: &Path, key: &str) -> String {
        let toml = config::toml(&[&self.chain], "127.0.0.1:0", shelf, Path::new("{dir}/assay.redb"), key);
        format!("{toml}\n[reading]\nindex = \"on\"\nindex_path = \"{{dir}}/index\"\nindex_per_second = 0\n")
    }
}
