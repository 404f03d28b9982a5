//! The weeks of the economy: prices change at midnight, borrowers act at noon, and the liquidator acts in the evening.

use alloy::primitives::Address;

use super::account::Account;
use super::borrower::Borrower;
use super::prices::Prices;
use super::{START, WEEK};
use crate::devnet::actors::{self, DEPLOYER, FAUCET, LIQUIDATOR};
use crate::devnet::life::Act;
use crate::devnet::seed::transactions;
use crate::devnet::sender::Sender;
use crate::devnet::tokens::{ALL, ASSETS, WBTC, WETH};
use crate::devnet::{Chain, Error};

const MORNING: u64 = 21_600;
const NOON: u64 = 43_200;
const EVENING: u64 = 72_000;
/// Collateral in dollars below which nothing can be liquidated.
const NOTHING: f64 = 0.01;

/// Runs one week for each price and returns the number of liquidations.
pub async fn run(chain: &Chain, sender: Sender, borrowers: Vec<Borrower>, path: Vec<Prices>) -> Result<usize, Error> {
    let wallets = borrowers.iter().map(|borrower| borrower.address).collect();
    let mut life = Life { chain, sender, borrowers, wallets };
    life.fund().await?;
    let mut liquidations = 0;
    for (week, prices) in (0..).zip(path) {
        life.price(week, prices).await?;
        life.act(week, prices).await?;
        liquidations += life.liquidate(week).await?;
    }
    Ok(liquidations)
}

struct Life<'a> {
    chain: &'a Chain,
    sender: Sender,
    borrowers: Vec<Borrower>,
    wallets: Vec<Address>,
}

impl Life<'_> {
    /// Gives the liquidator enough to pay any debt.
    async fn fund(&mut self) -> Result<(), Error> {
        let to = actors::address(LIQUIDATOR);
        for asset in ASSETS.into_iter().filter(|asset| asset.reserve) {
            let amount = 50_000_000.0 / asset.dollars;
            self.queue(actors::address(FAUCET), &Act::Mint { asset, to, amount }).await?;
            self.queue(to, &Act::Approve { asset }).await?;
        }
        self.sender.mine(START - WEEK).await
    }

    async fn price(&mut self, week: u64, prices: Prices) -> Result<(), Error> {
        for asset in [WETH, WBTC] {
            let act = Act::Price { asset, dollars: prices.of(asset.symbol) };
            self.queue(actors::address(DEPLOYER), &act).await?;
        }
        self.sender.mine(START + week * WEEK).await
    }

    async fn act(&mut self, week: u64, prices: Prices) -> Result<(), Error> {
        let mut all = Vec::new();
        for (borrower, account) in self.borrowers.iter_mut().zip(Account::now(self.chain, &self.wallets).await?) {
            let acts = borrower.acts(week, account, prices);
            all.extend(acts.into_iter().map(|act| (borrower.address, act)));
        }
        // Mint in a separate block: a node only orders transactions of the same sender.
        let (mints, others): (Vec<_>, Vec<_>) = all.iter().partition(|(_, act)| matches!(act, Act::Mint { .. }));
        for (_, act) in mints {
            self.queue(actors::address(FAUCET), act).await?;
        }
        self.sender.mine(START + week * WEEK + MORNING).await?;
        for (from, act) in others {
            self.queue(*from, act).await?;
        }
        self.sender.mine(START + week * WEEK + NOON).await
    }

    async fn liquidate(&mut self, week: u64) -> Result<usize, Error> {
        let accounts = Account::now(self.chain, &self.wallets).await?;
        let below = |account: &Account| account.health < 1.0 && account.collateral > NOTHING;
        let of = |borrower: &Borrower| Act::Liquidate {
            user: borrower.address,
            collateral: borrower.collateral,
            debt: borrower.debt,
            cover: ALL,
        };
        let due = self.borrowers.iter().zip(accounts).filter(|(_, account)| below(account));
        let due: Vec<Act> = due.map(|(borrower, _)| of(borrower)).collect();
        for act in &due {
            self.queue(actors::address(LIQUIDATOR), act).await?;
        }
        self.sender.mine(START + week * WEEK + EVENING).await?;
        Ok(due.len())
    }

    async fn queue(&mut self, from: Address, act: &Act) -> Result<(), Error> {
        let label = format!("{from}: {act:?}");
        for tx in transactions(&self.chain.rpc, &self.chain.market, from, act, label).await? {
            self.sender.queue(tx);
        }
        Ok(())
    }
}
