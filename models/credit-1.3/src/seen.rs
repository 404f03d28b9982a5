//! The figures this model judges, taken from the features in one pass. `fit/inputs.py` computes the same for the fit.
//! Only this module leaves out what must not count.

use crate::{
    table::{DUST, MOST_LOAD, THRESHOLD, UNDATED_DAYS},
    types::{Coverage, Features, MarketFeatures, Position},
};

const DAY: f64 = 86_400.0;

/// Sums over everything readable. Money is finite and not negative.
#[derive(Default)]
pub struct Seen {
    /// Debt over what it may reach before a liquidation: the highest of a market, or of everything together.
    pub load: f64,
    /// Whether a market stated a health factor.
    pub stated: bool,
    pub owed_usd: f64,
    pub supplied_usd: f64,
    pub repays: u64,
    pub liquidations: u64,
    /// Since the last liquidation; one without a date has a stated age.
    pub liquidation_days: Option<f64>,
    /// Whether the time of a liquidation is known.
    pub dated: bool,
    /// Whether something in a lending market was found.
    pub lends: bool,
    /// Whether a loan of more than dust is known.
    pub loan: bool,
    /// Whether a debt may exist that was not read.
    pub unread_debt: bool,
    /// Whether a chain or market could not be read, and whether one could.
    pub unread: bool,
    pub read: bool,
}

impl Seen {
    pub fn of(features: &Features) -> Self {
        let mut seen = Self::default();
        let (mut owed, mut supplied, mut threshold) = (0.0, 0.0, THRESHOLD);
        for chain in &features.chains {
            if chain.coverage == Coverage::Failed {
                seen.unread = true;
                seen.unread_debt = true;
                continue;
            }
            seen.read = true;
            owed += money(chain.borrowed_usd);
            supplied += money(chain.supplied_usd);
        }
        for market in features.markets.iter().filter(|market| market.feeds_score) {
            let complete =
                || features.chains.iter().any(|c| c.chain_id == market.chain_id && c.coverage == Coverage::Complete);
            seen.unread_debt |= hides_debt(market, complete);
            seen.market(market, features.as_of);
            if let Some(stated) = position(market).and_then(|position| position.liquidation_threshold) {
                threshold = threshold.max(money(stated).min(1.0));
            }
        }
        seen.owed_usd = seen.owed_usd.max(owed);
        seen.supplied_usd = seen.supplied_usd.max(supplied);
        // If all that is known is a health factor, missing deposits say nothing.
        if seen.supplied_usd > 0.0 || !seen.stated {
            seen.load = seen.load.max(load(seen.owed_usd, seen.supplied_usd, threshold));
        }
        seen.lends |= seen.owed_usd > 0.0 || seen.supplied_usd > 0.0;
        seen
    }

    fn market(&mut self, market: &MarketFeatures, as_of: u64) {
        let counted = market.coverage != Coverage::Failed;
        self.unread |= !counted;
        if !counted && position(market).is_none() {
            return;
        }
        self.read = true;
        self.position(market);
        if counted {
            self.history(market, as_of);
        }
    }

    fn position(&mut self, market: &MarketFeatures) {
        let (owed, supplied) = (money(market.borrowed_usd), money(market.supplied_usd));
        self.owed_usd += owed;
        self.supplied_usd += supplied;
        let factor = position(market).and_then(|position| position.health_factor).map_or(0.0, money);
        let of_market = if factor > 0.0 {
            self.stated = true;
            if owed >= DUST { (1.0 / factor).min(MOST_LOAD) } else { 0.0 }
        } else if supplied > 0.0 {
            load(owed, supplied, THRESHOLD)
        } else {
            0.0
        };
        self.load = self.load.max(of_market);
    }

    fn history(&mut self, market: &MarketFeatures, as_of: u64) {
        let count = |events: Option<u64>| events.unwrap_or(0);
        let (borrows, repays, liquidations) = (count(market.borrow), count(market.repay), count(market.liquidation));
        let used = [market.supply, market.withdraw].into_iter().any(|events| count(events) > 0)
            || market.first_event.is_some()
            || money(market.supplied_usd) > 0.0;
        self.repays = self.repays.saturating_add(repays);
        self.liquidations = self.liquidations.saturating_add(liquidations);
        self.lends |= used || borrows > 0 || repays > 0 || liquidations > 0;
        self.loan |= (borrows > 0 || repays > 0) && market.dollars.borrow.is_none_or(|usd| usd >= DUST);
        if liquidations > 0 {
            let days = market.last_liquidation.map_or(UNDATED_DAYS, |at| as_of.saturating_sub(at) as f64 / DAY);
            self.dated |= market.last_liquidation.is_some();
            self.liquidation_days = Some(self.liquidation_days.map_or(days, |newest| newest.min(days)));
        }
    }
}

/// The position of a market, if it was read.
fn position(market: &MarketFeatures) -> Option<&Position> {
    market.position.as_ref().filter(|position| position.coverage != Coverage::Failed)
}

/// Whether a market may hold a debt that was not read. `complete` says whether its whole chain was read.
fn hides_debt(market: &MarketFeatures, complete: impl Fn() -> bool) -> bool {
    match market.coverage {
        _ if position(market).is_some() => false,
        Coverage::Failed => true,
        _ if money(market.borrowed_usd) > 0.0 => false,
        Coverage::Complete => market.position.is_some(),
        _ => market.position.is_some() || !complete(),
    }
}

/// 0 without debt; the most if nothing secures it.
fn load(owed: f64, supplied: f64, threshold: f64) -> f64 {
    let room = supplied * threshold;
    match () {
        () if owed < DUST => 0.0,
        () if room <= 0.0 => MOST_LOAD,
        () => (owed / room).min(MOST_LOAD),
    }
}

/// What is negative, infinite or not a number is none. Capped to an amount at which a cent is still exact.
fn money(usd: f64) -> f64 {
    if usd.is_finite() && usd > 0.0 { usd.min(1e12) } else { 0.0 }
}
