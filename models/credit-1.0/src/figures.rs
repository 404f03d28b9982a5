//! The figures this model judges, summed over everything readable.

use crate::types::{Coverage, Features};

/// Seconds in a day.
const DAY: u64 = 86_400;

#[derive(Default)]
pub struct Figures {
    /// Whole days since the first transaction, 0 where there is none.
    pub days: u64,
    pub transactions: u64,
    /// Deposits, withdrawals and loans. How loans end is for the next generation to judge.
    pub lending: u64,
    /// Whole dollars held, deposits included.
    pub dollars: u64,
}

impl Figures {
    /// `None` where there are sources and all of them failed.
    pub fn of(features: &Features) -> Option<Self> {
        let mut figures = Self::default();
        let mut readable = features.chains.is_empty() && features.markets.is_empty();
        for chain in features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed) {
            readable = true;
            let days = chain.first_transaction.map_or(0, |at| features.as_of.saturating_sub(at) / DAY);
            figures.days = figures.days.max(days);
            figures.transactions = figures.transactions.saturating_add(chain.transactions);
        }
        for market in features.markets.iter().filter(|market| market.coverage != Coverage::Failed) {
            readable = true;
            if market.feeds_score {
                let counts = [market.supply, market.withdraw, market.borrow];
                figures.lending = counts.into_iter().flatten().fold(figures.lending, u64::saturating_add);
            }
        }
        // A float that is negative or not a number becomes 0 as an integer; infinity is no sum of money either.
        let whole = |usd: f64| if usd.is_finite() { usd as u64 } else { 0 };
        figures.dollars = features.holdings.iter().fold(0, |sum, holding| sum.saturating_add(whole(holding.usd)));
        readable.then_some(figures)
    }
}
