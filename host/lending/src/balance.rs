//! What a wallet has of one asset in a market, and whether what it moved there can have led to that.
//!
//! Interest only adds to a position, so that a sum of moves is never more than the position is, but for the rounding of
//! each move. And it never adds more than the market paid: had the wallet held the most that its sum ever was since the
//! market began, it would have that times the market's index now. Both bounds hold for any order of moves and at any
//! time, so that a truthful node is never accused, and a log that is left out shows as soon as its amount is beyond the
//! interest that may have accrued.

use alloy::primitives::I256;

use crate::{
    progress::Side,
    sums::{Flow, signed},
};
use assay_domain::{Address, U256};

/// One, as Aave counts indexes.
const RAY: U256 = U256::from_limbs([0x9fd0803ce8000000, 0x33b2e3c, 0, 0]);
/// Each move is rounded on its way into a scaled balance and out of it again, to less than this many of the smallest
/// units.
const ROUNDING: u64 = 2;
/// And the position is once more. Gateways and vaults leave dust of the same size.
const SLACK: u64 = 10;
const YEAR: f64 = 365.25 * 86_400.0;
/// What an index grows by in a year at the most, added since it was last told: the steepest strategies charge 300% a
/// year where everything is lent out.
const STEEPEST: f64 = 3.0;
/// What debt at a rate of its own grows by in a year at the most, continuously compounded: such rates are the market's
/// when the debt was made, and a market is not emptied for years.
const FIXED: f64 = 1.0;

/// By how much everything in a market has grown since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// In ray, at least one of it.
    index: U256,
    /// Seconds since 1970 that it is of.
    at: u64,
}

impl Interest {
    /// `None` for what cannot be an index. A market that was never touched has none yet and counts as one that has not
    /// grown.
    pub(super) fn of(index: U256, at: U256) -> Option<Self> {
        let at = u64::try_from(at).ok()?;
        let index = if index.is_zero() { RAY } else { index };
        // A millionfold since its beginning is no interest.
        (index >= RAY && index < RAY.saturating_mul(U256::from(1_000_000))).then_some(Self { index, at })
    }

    /// What one has grown by until `now`.
    fn growth(self, now: u64) -> f64 {
        let years = now.saturating_sub(self.at) as f64 / YEAR;
        f64::from(self.index) / f64::from(RAY) * (1.0 + STEEPEST * years) - 1.0
    }
}

/// What a wallet has of one asset, in its smallest unit.
#[derive(Debug, Clone, Copy)]
pub struct Balance {
    pub(super) side: Side,
    pub(super) asset: Address,
    /// Negative for a debt of what can be either.
    pub(super) amount: I256,
    /// What it may have grown by where it is positive, and where it is negative; nothing where there is none.
    pub(super) gains: Option<Interest>,
    pub(super) costs: Option<Interest>,
    /// It grows at a rate that is not the market's.
    pub(super) fixed_rate: bool,
    /// It changes by itself.
    pub(super) rebasing: bool,
}

/// How a position differs from what the moves allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// More is there than came in.
    Unexplained,
    /// Less is there than came in.
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
    /// An amount that bears no interest.
    pub(super) fn still(side: Side, asset: Address, amount: U256) -> Self {
        Self { side, asset, amount: signed(amount), gains: None, costs: None, fixed_rate: false, rebasing: false }
    }

    /// How the position differs from `flow`. `since` is when the first event was, `now` when the position was read, in
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
        let slack =
            if self.side == Side::Collateral { 0 } else { flow.moves.saturating_mul(ROUNDING).saturating_add(SLACK) };
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
    // Saturates, also where nothing sensible is left.
    let billionths = (growth * BILLION).ceil() as u64;
    let billion = I256::try_from(BILLION as u64).unwrap_or(I256::ONE);
    let factor = I256::try_from(billionths).unwrap_or(I256::MAX);
    amount.saturating_mul(factor).checked_div(billion).unwrap_or_default()
}

#[cfg(test)]
mod tests;
