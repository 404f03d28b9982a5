//! The figures this model judges, taken from the features in one pass. What must not count is left out here, and
//! nowhere else.

use crate::types::{AssetClass, ChainFeatures, Coverage, Features, MarketFeatures};

const DAY: f64 = 86_400.0;

/// Sums over everything readable. Days are counted back from `as-of`, money is finite and not negative.
#[derive(Default)]
pub struct Seen {
    /// Since the first sign of life.
    pub age_days: Option<f64>,
    pub transactions: u64,
    /// Since the last transaction.
    pub idle_days: Option<f64>,
    /// Chains with a transaction.
    pub chains_used: u32,
    /// Deposits, withdrawals, loans and repayments.
    pub events: u64,
    /// Lending markets with such an event.
    pub markets_used: u32,
    pub supplied_usd: f64,
    pub borrows: u64,
    pub repays: u64,
    /// Since the first event in a market where something was repaid.
    pub borrower_days: Option<f64>,
    pub liquidations: u64,
    /// Since the last liquidation; none where no source dates one.
    pub liquidation_days: Option<f64>,
    /// Value of everything held, deposits included.
    pub held_usd: f64,
    /// The same, each class counted by how surely it can be turned into money.
    pub sound_usd: f64,
    pub owed_usd: f64,
    /// Classes of asset with a value.
    pub classes_held: u32,
}

impl Seen {
    /// `None` where nothing could be read: there are sources, and all of them failed.
    pub fn of(features: &Features) -> Option<Self> {
        let mut seen = Self::default();
        let as_of = features.as_of;
        let mut readable = features.chains.is_empty() && features.markets.is_empty();
        for chain in features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed) {
            readable = true;
            seen.chain(chain, as_of);
        }
        for market in features.markets.iter().filter(|market| market.coverage != Coverage::Failed) {
            readable = true;
            // A protocol under validation is shown to people and must not move the score.
            if market.feeds_score {
                seen.market(market, as_of);
            }
        }
        for holding in &features.holdings {
            let usd = money(holding.usd);
            seen.held_usd += usd;
            seen.sound_usd += usd * soundness(holding.class);
            seen.classes_held += u32::from(usd >= CLASS_USD);
        }
        readable.then_some(seen)
    }

    fn chain(&mut self, chain: &ChainFeatures, as_of: u64) {
        self.transactions = self.transactions.saturating_add(chain.transactions);
        self.chains_used += u32::from(chain.transactions > 0);
        self.age_days = longest(self.age_days, chain.first_transaction.map(|at| days(at, as_of)));
        self.idle_days = shortest(self.idle_days, chain.last_transaction.map(|at| days(at, as_of)));
        self.owed_usd += money(chain.borrowed_usd);
    }

    fn market(&mut self, market: &MarketFeatures, as_of: u64) {
        let count = |events: Option<u64>| events.unwrap_or(0);
        let (borrows, repays, liquidations) = (count(market.borrow), count(market.repay), count(market.liquidation));
        let events =
            count(market.supply).saturating_add(count(market.withdraw)).saturating_add(borrows).saturating_add(repays);
        let first = market.first_event.map(|at| days(at, as_of));
        self.events = self.events.saturating_add(events);
        self.borrows = self.borrows.saturating_add(borrows);
        self.repays = self.repays.saturating_add(repays);
        self.liquidations = self.liquidations.saturating_add(liquidations);
        self.supplied_usd += money(market.supplied_usd);
        // A liquidation alone is no use of a market, or the first one would earn points elsewhere.
        if events > 0 {
            self.markets_used += 1;
            // A lending event dates a wallet even where its transactions could not be dated.
            self.age_days = longest(self.age_days, first);
        }
        if repays > 0 {
            self.borrower_days = longest(self.borrower_days, first);
        }
        if liquidations > 0 {
            self.liquidation_days = shortest(self.liquidation_days, market.last_liquidation.map(|at| days(at, as_of)));
        }
    }
}

/// Below this a class is dust: enough to hold on purpose, too little to send to a stranger as spam.
const CLASS_USD: f64 = 10.0;

/// How much of its stated value a class is likely to fetch.
fn soundness(class: AssetClass) -> f64 {
    match class {
        // Traded everywhere, or lent against by the protocols themselves.
        AssetClass::Native | AssetClass::Stablecoin | AssetClass::Wrapped | AssetClass::Collateral => 1.0,
        // A pool share loses against its parts when their prices part.
        AssetClass::Liquidity => 0.8,
        // Other tokens have thin markets: a sale of the whole balance moves the price.
        AssetClass::Token => 0.5,
    }
}

/// Dollars that can be counted on: what is negative, infinite or not a number is no money. Capped where a cent is still
/// exact.
fn money(usd: f64) -> f64 {
    if usd.is_finite() && usd > 0.0 { usd.min(1e12) } else { 0.0 }
}

/// Days before `as_of`; a moment after it counts as now.
fn days(at: u64, as_of: u64) -> f64 {
    as_of.saturating_sub(at) as f64 / DAY
}

fn longest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn shortest(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
