//! Changes to features: a repayment, a loan, a deposit, a withdrawal, another price, or some days of waiting.

mod apply;
mod positions;
mod price;
#[cfg(test)]
pub(super) mod tests;

use std::{fmt, str::FromStr};

use super::{MarketFeatures, exact};
use crate::ChainId;

pub use positions::TokenPositions;
pub(super) use price::factor;
pub use price::{PriceMove, Priced, TokenName};

/// The most days of one change: ten years.
pub const MOST_DAYS: u64 = 3_650;

/// A change to the features of a wallet. Nothing else changes: no event is added, and what a wallet repays or deposits
/// is not taken from its holdings.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// Lowers the debt of a market, its classes in proportion.
    Repay(MarketAmount),
    /// Raises the debt of a market, its classes in proportion. A first debt is in a stablecoin.
    Borrow(MarketAmount),
    /// Adds collateral to a market, its classes in proportion and at its mean threshold.
    Deposit(MarketAmount),
    /// Takes deposits from a market, the collateral first.
    Withdraw(MarketAmount),
    /// Moves the price of the assets of a class or of one token, as collateral and as debt, in every market.
    Price(PriceMove),
    /// Moves `as_of` forward, and nothing else.
    Days(u64),
}

/// US dollars in one market.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketAmount {
    pub market: MarketName,
    #[serde(with = "exact")]
    pub usd: f64,
}

/// The name of a market in features: `chain_id/protocol`, or `chain_id/protocol/market`.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MarketName {
    pub chain_id: ChainId,
    pub protocol: String,
    pub market: Option<String>,
}

/// Why a change does not apply to a wallet.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ChangeError {
    #[error("the wallet has no market {name}; it has {known}")]
    NoMarket { name: MarketName, known: String },
    #[error("the wallet has several markets {0}, and a change is of one")]
    Several(MarketName),
    #[error("an amount of {0} dollars; give a number above 0 and at most 1e12")]
    Amount(f64),
    #[error("a repayment of {usd} dollars to {market}, where the wallet owes {owes}; give at most that")]
    MoreThanOwed { market: MarketName, usd: f64, owes: f64 },
    #[error("a withdrawal of {usd} dollars from {market}, where the wallet has {has}; give at most that")]
    MoreThanSupplied { market: MarketName, usd: f64, has: f64 },
    #[error("a price that moves by {0} percent; give more than -100 and at most 1000")]
    Percent(f64),
    #[error("no market of the wallet has the token {token} as collateral or debt; it has {known}")]
    NoToken { token: TokenName, known: String },
    #[error("the tokens in {0} were not read, so the price of one cannot be moved; name a class, such as native")]
    TokensUnread(MarketName),
    #[error("{0} is no class, and these features have no tokens; give native, bitcoin, stablecoin or other")]
    NoTokens(TokenName),
    #[error("{0} days; give 1 to {MOST_DAYS}")]
    Days(u64),
    #[error("the wallet has no collateral in {0}, so the class and the threshold of a deposit are not known")]
    NoCollateral(MarketName),
}

impl MarketFeatures {
    pub fn name(&self) -> MarketName {
        MarketName { chain_id: self.chain_id, protocol: self.protocol.clone(), market: self.market.clone() }
    }
}

impl MarketName {
    fn is_of(&self, market: &MarketFeatures) -> bool {
        (self.chain_id, &self.protocol, &self.market) == (market.chain_id, &market.protocol, &market.market)
    }
}

impl fmt::Display for MarketName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.chain_id, self.protocol)?;
        self.market.iter().try_for_each(|market| write!(f, "/{market}"))
    }
}

impl FromStr for MarketName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, '/');
        let chain_id = parts.next().and_then(|id| id.parse().ok());
        match (chain_id, parts.next().filter(|protocol| !protocol.is_empty())) {
            (Some(chain_id), Some(protocol)) => {
                let (protocol, market) = (protocol.to_owned(), parts.next().map(str::to_owned));
                Ok(Self { chain_id, protocol, market })
            }
            _ => Err(format!("{text:?} is no market; write it as 1/lenderA_v3 or 1/lenderB_v3/USDC")),
        }
    }
}

impl TryFrom<String> for MarketName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MarketName> for String {
    fn from(name: MarketName) -> Self {
        name.to_string()
    }
}
