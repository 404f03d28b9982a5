//! Amounts in dollars, and the price of gas in them.

use std::{fmt, ops::Add};

use assay_domain::U256;
use serde::{Deserialize, Serialize};

/// Millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(pub u64);

impl Usd {
    pub const ZERO: Self = Self(0);

    /// `dollars`, from 0.
    pub fn of(dollars: f64) -> Self {
        Self((dollars * 1e6) as u64)
    }

    /// `amount` of the smallest unit of a dollar token.
    pub fn of_token(amount: U256, decimals: u8) -> Self {
        let unit = |decimals: u8| U256::from(10).saturating_pow(U256::from(decimals));
        let micros = match decimals.checked_sub(6) {
            Some(surplus) => amount / unit(surplus),
            None => amount.saturating_mul(unit(6 - decimals)),
        };
        Self(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    /// The difference, at least 0.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl Add for Usd {
    type Output = Self;

    /// The sum, up to the largest amount.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${:.4}", self.dollars())
    }
}

/// Dollars for one unit of the native currency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NativePrice(pub f64);

impl NativePrice {
    /// The price of `wei`, rounded up.
    pub fn usd(self, wei: u128) -> Usd {
        Usd((wei as f64 / 1e12 * self.0).ceil() as u64)
    }

    /// The wei that `amount` pays for, rounded down.
    pub fn wei(self, amount: Usd) -> u128 {
        (amount.0 as f64 / self.0 * 1e12) as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_in_millionths_of_a_dollar() {
        assert_eq!(Usd::of(0.25), Usd(250_000));
        assert_eq!(Usd::of_token(U256::from(100_000), 6), Usd(100_000));
        assert_eq!(Usd::of_token(U256::from(10).pow(U256::from(17)), 18), Usd(100_000));
        assert_eq!(Usd::of_token(U256::from(10), 2), Usd(100_000));
        assert_eq!(Usd::of_token(U256::MAX, 0), Usd(u64::MAX));
        assert_eq!(Usd(4_200).to_string(), "$0.0042");
    }

    #[test]
    fn wei_cost_their_price_rounded_up() {
        // 585,000 gas at 20 gwei and 3,000 dollars.
        assert_eq!(NativePrice(3_000.0).usd(585_000 * 20_000_000_000), Usd(35_100_000));
        assert_eq!(NativePrice(3_000.0).usd(1), Usd(1));
        assert_eq!(NativePrice(3_000.0).usd(0), Usd::ZERO);
        assert_eq!(NativePrice(1e6).usd(u128::MAX), Usd(u64::MAX));
    }
}
