//! The balance of one asset in a market, and whether the wallet's moves can have led to it.
//!
//! Where old state was compared with the moves, the principal to which they led is known, and must be the position's.
//! Elsewhere there are bounds. Interest only adds to a position, so that the sum of moves is never more than the
//! position, but for the rounding of each move. And it adds at most what the market paid: the highest sum that the
//! wallet ever had, times the growth of the market's index since its beginning, at the rate of the market and not at a
//! guess. Both bounds hold for any order of moves and at any time, so that the logs of a correct endpoint always fit,
//! and a missing log shows as soon as its amount is more than the possible interest. Scaled amounts and shares have no
//! interest, so that there every missing log shows, and several unless they cancel each other to the last unit.

use std::cmp::Ordering;

use alloy::primitives::I256;

use crate::{
    asset::Asset,
    progress::Side,
    sums::{Flow, signed},
};
use assay_domain::U256;

/// One, in the unit of Aave's indexes.
pub(super) const RAY: U256 = U256::from_limbs([0x9fd0803ce8000000, 0x33b2e3c, 0, 0]);
/// Each move is rounded to a scaled balance and back, which differs by less than this many of the smallest units.
const ROUNDING: u64 = 2;
/// Rounding of the position itself, and dust of the same size from gateways and vaults.
const SLACK: u64 = 10;
const YEAR: f64 = 365.25 * 86_400.0;
/// The year of the markets' rates.
const YEAR_OF_RATES: f64 = 365.0 * 86_400.0;
/// Upper bound of an index's growth per year after the market was looked up: the steepest rate models charge 300% a
/// year at full utilisation.
const STEEPEST: f64 = 3.0;
/// Upper bound of the growth per year of debt at a fixed rate, continuously compounded: its rate is the market's when
/// the debt began, and no market stays at full utilisation for years.
const FIXED: f64 = 1.0;

/// The growth of every balance in a market since its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// In ray, at least one ray.
    index: U256,
    /// Time of its last update, in seconds since 1970.
    at: u64,
    /// The rate in ray by which it grows after that, as of the time at which the market was looked up: each use of a
    /// market that changes its rate updates its index.
    rate: U256,
    seen: u64,
}

impl Interest {
    /// Without a known rate after the last update. `None` for a number that cannot be an index. An unused market has
    /// none yet and counts as one without growth.
    pub(super) fn of(index: U256, at: U256) -> Option<Self> {
        let at = u64::try_from(at).ok()?;
        let index = if index.is_zero() { RAY } else { index };
        // A growth of a million times is no interest.
        let is_index = index >= RAY && index < RAY.saturating_mul(U256::from(1_000_000));
        is_index.then_some(Self { index, at, rate: U256::ZERO, seen: at })
    }

    /// The same with the `rate` a year, in ray, that a look at the market at `seen` showed.
    #[must_use]
    pub(super) fn paying(self, rate: U256, seen: u64) -> Self {
        Self { rate, seen: seen.max(self.at), ..self }
    }

    /// The growth of one unit until `now`.
    fn growth(self, now: u64) -> f64 {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64;
        let in_ray = |number: U256| f64::from(number) / f64::from(RAY);
        // Compound interest is more than simple one, which supplies of some markets get.
        let known = (in_ray(self.rate) * seconds(self.at, self.seen.min(now)) / YEAR_OF_RATES).exp();
        in_ray(self.index) * known * (1.0 + STEEPEST * seconds(self.seen, now) / YEAR) - 1.0
    }
}

/// The balance of one asset, in its smallest unit.
#[derive(Debug, Clone, Copy)]
pub struct Balance {
    pub(super) side: Side,
    pub(super) asset: Asset,
    /// Negative for a debt, where an asset can be supply or debt.
    pub(super) amount: I256,
    /// The same without interest, where the market keeps it.
    pub(super) principal: Option<I256>,
    /// The interest where it is positive, and where it is negative; `None` for no interest.
    pub(super) gains: Option<Interest>,
    pub(super) costs: Option<Interest>,
    /// It grows at a fixed rate and not at the market's.
    pub(super) fixed_rate: bool,
    /// It changes without moves.
    pub(super) rebasing: bool,
}

/// How a balance differs from what the moves allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// It is more than the moves allow.
    Unexplained,
    /// It is less than the moves allow.
    Missing,
}

impl Difference {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unexplained => "unexplained",
            Self::Missing => "missing",
        }
    }
}

impl Balance {
    /// An amount without interest.
    pub(super) fn still(side: Side, asset: impl Into<Asset>, amount: U256) -> Self {
        let (asset, amount) = (asset.into(), signed(amount));
        Self { side, asset, amount, principal: None, gains: None, costs: None, fixed_rate: false, rebasing: false }
    }

    /// How the balance without interest differs from the one to which old state shows that the moves led.
    pub(super) fn differs_from(&self, expected: I256) -> Option<Difference> {
        match self.principal?.cmp(&expected) {
            Ordering::Greater => Some(Difference::Unexplained),
            Ordering::Less => Some(Difference::Missing),
            Ordering::Equal => None,
        }
    }

    /// How the balance differs from `flow`. `since` is the time of the first event and `now` that of the balance, in
    /// seconds since 1970.
    pub(super) fn differs(&self, flow: Flow, since: Option<u64>, now: u64) -> Option<Difference> {
        if self.rebasing {
            return (flow.moves == 0 && !self.amount.is_zero()).then_some(Difference::Unexplained);
        }
        let years = now.saturating_sub(since.unwrap_or(now)) as f64 / YEAR;
        let grown = |held: I256, interest: Option<Interest>| {
            let own = if flow.fixed_rate || self.fixed_rate { (FIXED * years).exp_m1() } else { 0.0 };
            share(held, interest.map_or(0.0, |interest| interest.growth(now)).max(own))
        };
        let is_exact = self.side == Side::Collateral || matches!(self.asset, Asset::Shares(_));
        let slack = if is_exact { 0 } else { flow.moves.saturating_mul(ROUNDING).saturating_add(SLACK) };
        let slack = I256::try_from(slack).unwrap_or(I256::MAX);
        let most = flow.net.saturating_add(grown(flow.high, self.gains)).saturating_add(slack);
        let least = flow.net.saturating_add(grown(flow.low, self.costs)).saturating_sub(slack);
        if self.amount > most {
            Some(Difference::Unexplained)
        } else {
            (self.amount < least).then_some(Difference::Missing)
        }
    }
}

/// `growth` times `amount`, rounded away from zero to a billionth.
fn share(amount: I256, growth: f64) -> I256 {
    const BILLION: f64 = 1e9;
    // The cast saturates, also for values that make no sense.
    let billionths = (growth * BILLION).ceil() as u64;
    let billion = I256::try_from(BILLION as u64).unwrap_or(I256::ONE);
    let factor = I256::try_from(billionths).unwrap_or(I256::MAX);
    amount.saturating_mul(factor).checked_div(billion).unwrap_or_default()
}

#[cfg(test)]
mod tests;
