//! A life: the steps of one wallet, with their chain and time. `seed` puts them onto a chain.

use alloy::primitives::Address;

use super::actors;
use super::tokens::Asset;

pub const ETHEREUM: u64 = 1;
pub const BASE: u64 = 8453;

const DAY: f64 = 86_400.0;
/// Steps of lives are at noon; steps of the weather (prices and liquidations) are at midnight.
const NOON: u64 = 43_200;
const HOUR: u64 = 3_600;

/// One step.
#[derive(Debug, Clone)]
pub struct Step {
    pub chain: u64,
    /// Seconds before the start of the devnet.
    pub ago: u64,
    /// Name of the account.
    pub by: &'static str,
    pub act: Act,
}

/// The kinds of steps. Amounts are in tokens, or [`super::tokens::ALL`] where the contract allows it.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends ether.
    Send {
        to: Address,
        ether: f64,
    },
    /// Mints tokens for `to`.
    Mint {
        asset: Asset,
        to: Address,
        amount: f64,
    },
    /// Sends tokens.
    Transfer {
        asset: Asset,
        to: Address,
        amount: f64,
    },
    /// Approves any amount for the pool.
    Approve {
        asset: Asset,
    },
    Supply {
        asset: Asset,
        amount: f64,
        owner: Address,
    },
    Withdraw {
        asset: Asset,
        amount: f64,
    },
    Borrow {
        asset: Asset,
        amount: f64,
        owner: Address,
    },
    Repay {
        asset: Asset,
        amount: f64,
        owner: Address,
    },
    /// Repays with supplied tokens.
    RepayWithATokens {
        asset: Asset,
        amount: f64,
    },
    /// Delegates credit to another account.
    Delegate {
        asset: Asset,
        to: Address,
        amount: f64,
    },
    Liquidate {
        user: Address,
        collateral: Asset,
        debt: Asset,
        cover: f64,
    },
    /// Sets the price of the oracle and the feed.
    Price {
        asset: Asset,
        dollars: f64,
    },
    /// Mints to both until they own the same; each gets at least one token.
    Equalise {
        asset: Asset,
        between: [Address; 2],
    },
}

/// The builder of a life: its steps, and the chain of the next steps.
#[derive(Debug, Clone)]
pub struct Life {
    pub name: &'static str,
    pub description: &'static str,
    pub steps: Vec<Step>,
    chain: u64,
}

impl Life {
    pub fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, description, steps: Vec::new(), chain: ETHEREUM }
    }

    pub fn address(&self) -> Address {
        actors::address(self.name)
    }

    #[must_use]
    pub fn on(mut self, chain: u64) -> Self {
        self.chain = chain;
        self
    }

    fn step(mut self, ago: u64, by: &'static str, act: Act) -> Self {
        self.steps.push(Step { chain: self.chain, ago, by, act });
        self
    }

    fn act(self, days: f64, act: Act) -> Self {
        let by = self.name;
        self.step(noon(days), by, act)
    }

    /// Receives ether and tokens from the faucet, and sends nothing.
    #[must_use]
    pub fn receives(mut self, days: f64, ether: f64, tokens: &[(Asset, f64)]) -> Self {
        let to = self.address();
        if ether > 0.0 {
            self = self.step(noon(days) + HOUR, actors::FAUCET, Act::Send { to, ether });
        }
        for &(asset, amount) in tokens {
            self = self.step(noon(days) + HOUR, actors::FAUCET, Act::Mint { asset, to, amount });
        }
        self
    }

    /// Receives, and an hour later approves the pool's tokens for the pool.
    #[must_use]
    pub fn arrives(mut self, days: f64, ether: f64, tokens: &[(Asset, f64)]) -> Self {
        self = self.receives(days, ether, tokens);
        for &(asset, _) in tokens.iter().filter(|(asset, _)| asset.reserve) {
            self = self.act(days, Act::Approve { asset });
        }
        self
    }

    #[must_use]
    pub fn approves(self, days: f64, asset: Asset) -> Self {
        self.act(days, Act::Approve { asset })
    }

    #[must_use]
    pub fn sends(self, days: f64, to: Address, ether: f64) -> Self {
        self.act(days, Act::Send { to, ether })
    }

    #[must_use]
    pub fn transfers(self, days: f64, to: Address, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Transfer { asset, to, amount })
    }

    #[must_use]
    pub fn supplies(self, days: f64, asset: Asset, amount: f64) -> Self {
        let owner = self.address();
        self.supplies_for(days, owner, asset, amount)
    }

    #[must_use]
    pub fn supplies_for(self, days: f64, owner: Address, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Supply { asset, amount, owner })
    }

    #[must_use]
    pub fn withdraws(self, days: f64, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Withdraw { asset, amount })
    }

    #[must_use]
    pub fn borrows(self, days: f64, asset: Asset, amount: f64) -> Self {
        let owner = self.address();
        self.borrows_for(days, owner, asset, amount)
    }

    #[must_use]
    pub fn borrows_for(self, days: f64, owner: Address, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Borrow { asset, amount, owner })
    }

    #[must_use]
    pub fn repays(self, days: f64, asset: Asset, amount: f64) -> Self {
        let owner = self.address();
        self.repays_for(days, owner, asset, amount)
    }

    #[must_use]
    pub fn repays_for(self, days: f64, owner: Address, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Repay { asset, amount, owner })
    }

    #[must_use]
    pub fn repays_with_a_tokens(self, days: f64, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::RepayWithATokens { asset, amount })
    }

    #[must_use]
    pub fn delegates(self, days: f64, to: Address, asset: Asset, amount: f64) -> Self {
        self.act(days, Act::Delegate { asset, to, amount })
    }
}

/// Seconds ago of the noon that follows midnight `days` ago.
fn noon(days: f64) -> u64 {
    ((days * DAY) as u64).saturating_sub(NOON)
}

/// Seconds ago of midnight `days` ago, `hours` later.
pub fn midnight(days: f64, hours: u64) -> u64 {
    ((days * DAY) as u64).saturating_sub(hours * HOUR)
}
