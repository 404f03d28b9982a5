//! The balance of one asset in a market, and whether the wallet's moves can have led to it.
//!
//! If old state was compared with the moves, the resulting principal is known, and must equal the position's. Otherwise
//! there are bounds. Interest only adds to a position, so the sum of moves is never more than the position, apart from
//! rounding. And interest is at most what the market paid: the highest sum that the wallet ever had, times the growth
//! of the market's index since its beginning, at the market's actual rate. Both bounds hold for any order of moves and
//! at any time, so the logs of a correct endpoint always fit, and a missing log shows once its amount exceeds the
//! possible interest. Scaled amounts and shares bear no interest: there every missing log shows, unless several cancel
//! each other exactly.

use std::cmp::Ordering;

use alloy::primitives::I256;

use crate::{
    asset::Asset,
    figures::{
        record::Side,
        sums::{Flow, rounding, signed},
    },
    tolerances,
};
use assay_domain::U256;

/// One, in the unit of Aave's indexes.
pub(crate) const RAY: U256 = U256::from_limbs([0x9fd0803ce8000000, 0x33b2e3c, 0, 0]);
const YEAR: f64 = 365.25 * 86_400.0;
/// The year to which the markets' rates refer.
const YEAR_OF_RATES: f64 = 365.0 * 86_400.0;

/// The growth of every balance in a market since the market began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// In ray; at least one ray.
    index: U256,
    /// Time of its last update, in seconds since 1970.
    at: u64,
    /// The yearly rate, in ray, at which the index grows after that, as of `seen`. Each use of a market that changes
    /// its rate also updates its index.
    rate: U256,
    seen: u64,
}

impl Interest {
    /// An index whose rate after the last update is unknown. `None` for a number that cannot be an index. An unused
    /// market has no index yet, which counts as no growth.
    pub(crate) fn of(index: U256, at: U256) -> Option<Self> {
        let at = u64::try_from(at).ok()?;
        let index = if index.is_zero() { RAY } else { index };
        // Interest does not multiply a balance by a million.
        let is_index = index >= RAY && index < RAY.saturating_mul(U256::from(1_000_000));
        is_index.then_some(Self { index, at, rate: U256::ZERO, seen: at })
    }

    /// The same with the yearly `rate`, in ray, that the market had when looked up at `seen`.
    #[must_use]
    pub(crate) fn paying(self, rate: U256, seen: u64) -> Self {
        Self { rate, seen: seen.max(self.at), ..self }
    }

    /// The growth of one unit until `now`.
    fn growth(self, now: u64) -> f64 {
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64;
        let in_ray = |number: U256| f64::from(number) / f64::from(RAY);
        // Compound interest is an upper bound for the simple interest that supplies of some markets earn.
        let known = (in_ray(self.rate) * seconds(self.at, self.seen.min(now)) / YEAR_OF_RATES).exp();
        in_ray(self.index) * known * (1.0 + tolerances::STEEPEST_RATE * seconds(self.seen, now) / YEAR) - 1.0
    }
}

/// The balance of one asset, in its smallest unit.
#[derive(Debug, Clone, Copy)]
pub struct Balance {
    pub(crate) side: Side,
    pub(crate) asset: Asset,
    /// Negative for a debt, if one asset can be supply or debt.
    pub(crate) amount: I256,
    /// The amount without interest, if the market keeps it.
    pub(crate) principal: Option<I256>,
    /// The interest on a positive amount (`gains`) and on a negative one (`costs`); `None` for no interest.
    pub(crate) gains: Option<Interest>,
    pub(crate) costs: Option<Interest>,
    /// Whether it grows at a fixed rate instead of the market's.
    pub(crate) fixed_rate: bool,
    /// Whether it changes without moves.
    pub(crate) rebasing: bool,
}

/// How a balance differs from what the moves allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The balance is more than the moves allow.
    Unexplained,
    /// The balance is less than the moves allow.
    Missing,
}

impl Difference {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Unexplained => "unexplained",
            Self::Missing => "missing",
        }
    }
}

impl Balance {
    /// An amount without interest.
    pub(crate) fn still(side: Side, asset: impl Into<Asset>, amount: U256) -> Self {
        let (asset, amount) = (asset.into(), signed(amount));
        Self { side, asset, amount, principal: None, gains: None, costs: None, fixed_rate: false, rebasing: false }
    }

    /// How the balance without interest differs from `expected`, the principal that old state and moves lead to.
    pub(crate) fn differs_from(&self, expected: I256) -> Option<Difference> {
        match self.principal?.cmp(&expected) {
            Ordering::Greater => Some(Difference::Unexplained),
            Ordering::Less => Some(Difference::Missing),
            Ordering::Equal => None,
        }
    }

    /// How the balance differs from `flow`. `since` is the time of the first event and `now` that of the balance, both
    /// in seconds since 1970.
    pub(crate) fn differs(&self, flow: Flow, since: Option<u64>, now: u64) -> Option<Difference> {
        if self.rebasing {
            return (flow.moves == 0 && !self.amount.is_zero()).then_some(Difference::Unexplained);
        }
        let years = now.saturating_sub(since.unwrap_or(now)) as f64 / YEAR;
        // What a token of debt at a fixed rate stores is without the interest since its last log.
        let is_stored = matches!(self.asset, Asset::Fixed(_));
        let is_fixed = (flow.fixed_rate || self.fixed_rate) && !is_stored;
        let grown = |held: I256, interest: Option<Interest>| {
            let own = if is_fixed { (tolerances::FIXED_RATE * years).exp_m1() } else { 0.0 };
            share(held, interest.map_or(0.0, |interest| interest.growth(now)).max(own))
        };
        let is_exact = is_stored || self.side == Side::Collateral || matches!(self.asset, Asset::Shares(_));
        let slack = if is_exact { 0 } else { rounding(flow.moves) };
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
    // The cast saturates, even for absurd values.
    let billionths = (growth * BILLION).ceil() as u64;
    let billion = I256::try_from(BILLION as u64).unwrap_or(I256::ONE);
    let factor = I256::try_from(billionths).unwrap_or(I256::MAX);
    amount.saturating_mul(factor).checked_div(billion).unwrap_or_default()
}

#[cfg(test)]
mod tests;
