//! The assets of a wallet. Amounts stay integers; dollars are computed when an amount is shown or scored.

use std::collections::HashMap;

use crate::{Address, ChainId, U256};

/// Prices by contract; `None` is the native currency.
pub type Prices = HashMap<Option<Address>, Price>;

/// The price of one whole token in dollars, and its source.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub usd: f64,
    pub source: PriceSource,
}

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    /// A Chainlink feed.
    Feed,
    /// The oracle of a lending market.
    Oracle,
    /// An external price API.
    Api,
    /// The reserves of a liquidity pool, for its share.
    Pool,
}

impl PriceSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Feed => "feed",
            Self::Oracle => "oracle",
            Self::Api => "api",
            Self::Pool => "pool",
        }
    }
}

/// The asset classes that models distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AssetClass {
    Native,
    Stablecoin,
    Token,
    Wrapped,
    Liquidity,
    Collateral,
}

impl AssetClass {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Stablecoin => "stablecoin",
            Self::Token => "token",
            Self::Wrapped => "wrapped",
            Self::Liquidity => "liquidity",
            Self::Collateral => "collateral",
        }
    }
}

/// A balance of one asset on one chain.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBalance {
    pub chain_id: ChainId,
    /// `None` for the chain's native currency.
    pub contract: Option<Address>,
    pub symbol: String,
    pub name: String,
    /// In the asset's smallest unit.
    pub amount: U256,
    pub decimals: u8,
    /// `None` if no source has a fresh price. Such a token is shown, and counts as 0 dollars.
    pub price: Option<Price>,
    pub class: AssetClass,
}

impl TokenBalance {
    /// Whole tokens as decimal text, exact, without trailing zeros.
    pub fn balance_text(&self) -> String {
        balance_text(self.amount, self.decimals)
    }

    /// Dollars for one whole token, if it has a price.
    pub fn price_usd(&self) -> Option<f64> {
        self.price.map(|price| price.usd)
    }

    /// Value in dollars; 0 without a price.
    pub fn value_usd(&self) -> f64 {
        self.price.map_or(0.0, |price| whole_tokens(self.amount, self.decimals) * price.usd)
    }
}

/// `amount` in whole tokens as decimal text, exact, without trailing zeros.
pub(crate) fn balance_text(amount: U256, decimals: u8) -> String {
    let digits = amount.to_string();
    let places = usize::from(decimals);
    if places == 0 {
        return digits;
    }
    let padded = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = padded.split_at(padded.len() - places);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
}

/// `amount` in whole tokens, to the precision of an `f64` (about 16 digits).
pub(crate) fn whole_tokens(amount: U256, decimals: u8) -> f64 {
    f64::from(amount) / 10f64.powi(i32::from(decimals))
}

/// A non-fungible token. Shown, but never valued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nft {
    pub chain_id: ChainId,
    pub name: String,
    pub collection: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(amount: u128, decimals: u8, price_usd: Option<f64>) -> TokenBalance {
        TokenBalance {
            chain_id: 1,
            contract: None,
            symbol: "T".into(),
            name: "T".into(),
            amount: U256::from(amount),
            decimals,
            price: price_usd.map(|usd| Price { usd, source: PriceSource::Feed }),
            class: AssetClass::Token,
        }
    }

    #[test]
    fn balances_are_exact_text() {
        let text = |amount, decimals| token(amount, decimals, None).balance_text();
        assert_eq!(text(1_500_000, 6), "1.5");
        assert_eq!(text(1, 18), "0.000000000000000001");
        assert_eq!(text(2_000_000, 6), "2");
        assert_eq!(text(0, 18), "0");
        assert_eq!(text(7, 0), "7");
    }

    #[test]
    fn without_a_price_a_token_is_worth_nothing() {
        assert_eq!(token(5_000_000, 6, None).value_usd(), 0.0);
        assert_eq!(token(2_500_000, 6, Some(2.0)).value_usd(), 5.0);
    }
}
