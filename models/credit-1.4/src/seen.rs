//! What this model judges, taken from the features in one pass. Only this module leaves out what must not count.
//!
//! A part that failed can only lower a score. What still stands in it counts against the wallet, never for it.

use crate::{
    balance,
    loan::{Loan, money},
    table::{ROUNDING, UNDATED_DAYS},
    types::{Coverage, Features, MarketFeatures, Position},
};

const DAY: f64 = 86_400.0;

/// Everything readable. Money is finite and not negative.
#[derive(Default)]
pub struct Seen {
    pub loans: Vec<Loan>,
    pub repays: u64,
    pub liquidations: u64,
    /// Since the last liquidation; one without a date has a stated age.
    pub liquidation_days: Option<f64>,
    /// Whether the time of a liquidation is known.
    pub is_dated: bool,
    /// Of the market with the most.
    pub dollar_days: f64,
    /// Whether something in a lending market was found, and whether a loan was.
    pub lends: bool,
    pub borrowed: bool,
    /// Whether a debt or a liquidation may exist that was not read.
    pub is_unread: bool,
    /// Whether a chain or market could not be read, and whether one could.
    pub is_part_unread: bool,
    pub is_part_read: bool,
}

/// Markets of one lender on one chain without a stated health factor: they secure each other's debt.
struct Pool<'a> {
    chain_id: u64,
    protocol: &'a str,
    owed: f64,
    supplied: f64,
}

impl Seen {
    pub fn of(features: &Features) -> Self {
        let mut seen = Self::default();
        let mut pools: Vec<Pool> = Vec::new();
        for market in features.markets.iter().filter(|market| market.feeds_score) {
            seen.is_unread |= hides(market, features);
            seen.history(market, features.as_of);
            let (owed, supplied) = (money(market.borrowed_usd), money(market.supplied_usd));
            match loan(market, owed, supplied) {
                Some(loan) => seen.loans.push(loan),
                None => {
                    match pools.iter_mut().find(|p| (p.chain_id, p.protocol) == (market.chain_id, &market.protocol)) {
                        Some(pool) => (pool.owed, pool.supplied) = (pool.owed + owed, pool.supplied + supplied),
                        None => {
                            let (chain_id, protocol) = (market.chain_id, market.protocol.as_str());
                            pools.push(Pool { chain_id, protocol, owed, supplied });
                        }
                    }
                }
            }
        }
        seen.loans.extend(pools.iter().map(|pool| Loan::plain(pool.owed, pool.supplied)));
        for chain in &features.chains {
            let is_read = chain.coverage != Coverage::Failed;
            seen.is_part_read |= is_read;
            seen.is_part_unread |= !is_read;
            seen.is_unread |= !is_read;
            // The rest that no market of the chain shows.
            let on_chain = || features.markets.iter().filter(|m| m.feeds_score && m.chain_id == chain.chain_id);
            let owed: f64 = on_chain().map(|market| money(market.borrowed_usd)).sum();
            let supplied: f64 = on_chain().map(|market| money(market.supplied_usd)).sum();
            let owed = (money(chain.borrowed_usd) - owed - ROUNDING).max(0.0);
            let supplied = (money(chain.supplied_usd) - supplied - ROUNDING).max(0.0);
            seen.loans.push(if is_read { Loan::plain(owed, supplied) } else { Loan::unread(owed, supplied, None) });
            seen.lends |= owed > 0.0 || supplied > 0.0;
        }
        seen
    }

    fn history(&mut self, market: &MarketFeatures, as_of: u64) {
        let is_counted = market.coverage != Coverage::Failed;
        self.is_part_unread |= !is_counted;
        self.is_part_read |= is_counted || position(market).is_some();
        let count = |events: Option<u64>| events.unwrap_or(0);
        let liquidations = count(market.liquidation);
        let (borrows, repays) = if is_counted { (count(market.borrow), count(market.repay)) } else { (0, 0) };
        let used = [market.supply, market.withdraw].into_iter().any(|events| count(events) > 0);
        self.lends |= money(market.borrowed_usd) > 0.0 || money(market.supplied_usd) > 0.0 || liquidations > 0;
        self.lends |= is_counted && (used || market.first_event.is_some() || borrows > 0 || repays > 0);
        self.borrowed |= borrows > 0 || repays > 0 || money(market.borrowed_usd) > 0.0;
        self.repays = self.repays.saturating_add(repays);
        self.liquidations = self.liquidations.saturating_add(liquidations);
        self.dollar_days = self.dollar_days.max(balance::dollar_days(market, as_of));
        if liquidations > 0 {
            let days = market.last_liquidation.map_or(UNDATED_DAYS, |at| as_of.saturating_sub(at) as f64 / DAY);
            self.is_dated |= market.last_liquidation.is_some();
            self.liquidation_days = Some(self.liquidation_days.map_or(days, |newest| newest.min(days)));
        }
    }
}

/// The loan of a market; none if it must be seen together with others of its lender.
fn loan(market: &MarketFeatures, owed: f64, supplied: f64) -> Option<Loan> {
    let stated = market.position.as_ref()?;
    let factor = stated.health_factor.filter(|factor| factor.is_finite()).map(|factor| factor.max(0.0));
    match (stated.coverage, factor) {
        (Coverage::Failed, factor) => Some(Loan::unread(owed, supplied, factor)),
        (_, Some(factor)) => Some(Loan::stated(owed, supplied, factor, stated)),
        (Coverage::Complete, None) if owed > 0.0 => None,
        (Coverage::Complete, None) => Some(Loan::plain(owed, supplied)),
        (_, None) => Some(Loan::unread(owed, supplied, None)),
    }
}

/// The position of a market, if it was read.
fn position(market: &MarketFeatures) -> Option<&Position> {
    market.position.as_ref().filter(|position| position.coverage != Coverage::Failed)
}

/// Whether a market may hold a debt or a liquidation that was not read.
fn hides(market: &MarketFeatures, features: &Features) -> bool {
    let is_whole = || features.chains.iter().any(|c| c.chain_id == market.chain_id && c.coverage == Coverage::Complete);
    match (market.coverage, &market.position) {
        (Coverage::Failed | Coverage::Pending, _) => true,
        (_, Some(stated)) => stated.coverage == Coverage::Failed,
        (Coverage::Partial, None) => !is_whole(),
        (Coverage::Complete, None) => false,
    }
}
