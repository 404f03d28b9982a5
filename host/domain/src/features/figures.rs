//! Features as a list of figures, for distributions.

use super::{ChainFeatures, Features, MarketFeatures, PositionFeatures};
use crate::Coverage;

/// A figure of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Figure {
    pub name: &'static str,
    /// Whether it is a whole number.
    pub is_whole: bool,
    /// The inputs that it is computed of, as a model names those that it reads.
    pub inputs: &'static [&'static str],
}

/// The figures, in the order of [`figures`].
pub const FIGURES: [Figure; 20] = [
    part("Wallet age, days", &["chains.first-transaction"]),
    part("Days since last transaction", &["chains.last-transaction"]),
    whole("Chains used", &["chains.transactions"]),
    whole("Transactions", &["chains.transactions"]),
    whole("Token transfers", &["chains.transfers"]),
    whole("Counterparties", &["chains.counterparties"]),
    whole("Active days", &["chains.active-days"]),
    part("Held, USD", &["holdings"]),
    part("Supplied, USD", &["markets.supplied-usd"]),
    part("Borrowed, USD", &["markets.borrowed-usd"]),
    whole("Lending markets used", &["markets.first-event"]),
    whole("Deposits", &["markets.supply"]),
    whole("Withdrawals", &["markets.withdraw"]),
    whole("Loans", &["markets.borrow"]),
    whole("Repayments", &["markets.repay"]),
    whole("Liquidations", &["markets.liquidation"]),
    whole("Attestations", &["identity"]),
    part("Collateral, USD", &["markets.position.collateral"]),
    part("Debt, USD", &["markets.position.debt"]),
    part("Lowest health factor", &["markets.position.health-factor"]),
];

const fn part(name: &'static str, inputs: &'static [&'static str]) -> Figure {
    Figure { name, is_whole: false, inputs }
}

const fn whole(name: &'static str, inputs: &'static [&'static str]) -> Figure {
    Figure { name, is_whole: true, inputs }
}

/// Seconds in a day.
const DAY: f64 = 86_400.0;

impl Figure {
    /// Whether a model reads an input of it. `reads` are the inputs that the model names; a whole list, such as
    /// `holdings`, has its fields.
    pub fn is_read(&self, reads: &[String]) -> bool {
        let has = |list: &str, field: &str| field.strip_prefix(list).is_some_and(|rest| rest.starts_with('.'));
        let is = |input: &str| reads.iter().any(|read| read == input || has(read, input) || has(input, read));
        self.inputs.iter().any(|input| is(input))
    }
}

/// The figures, summed over chains and markets that could be read; `None` if there is no value.
pub fn figures(features: &Features) -> [Option<f64>; FIGURES.len()] {
    let chains = || features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed);
    let markets = || features.markets.iter().filter(|market| market.coverage != Coverage::Failed);
    let positions = || {
        let positions = markets().filter_map(|market| market.position.as_ref());
        positions.filter(|position| position.coverage != Coverage::Failed)
    };
    let chain = |of: fn(&ChainFeatures) -> Option<f64>| sum(chains().filter_map(of));
    let market = |of: fn(&MarketFeatures) -> Option<f64>| sum(markets().filter_map(of));
    let position = |of: fn(&PositionFeatures) -> f64| sum(positions().map(of));
    let count = |count: Option<u64>| count.map(|count| count as f64);
    let days = |since: Option<u64>| since.map(|at| features.as_of.saturating_sub(at) as f64 / DAY);
    [
        days(chains().filter_map(|chain| chain.first_transaction).min()),
        days(chains().filter_map(|chain| chain.last_transaction).max()),
        chain(|chain| Some(f64::from(u8::from(chain.transactions > 0)))),
        chain(|chain| Some(chain.transactions as f64)),
        chain(|chain| chain.transfers.map(|count| count as f64)),
        chain(|chain| chain.counterparties.map(f64::from)),
        chain(|chain| chain.active_days.map(f64::from)),
        Some(features.holdings.iter().map(|holding| holding.usd).sum()),
        market(|market| Some(market.supplied_usd)),
        market(|market| Some(market.borrowed_usd)),
        market(|market| Some(f64::from(u8::from(market.first_event.is_some())))),
        sum(markets().filter_map(|market| count(market.supply))),
        sum(markets().filter_map(|market| count(market.withdraw))),
        sum(markets().filter_map(|market| count(market.borrow))),
        sum(markets().filter_map(|market| count(market.repay))),
        sum(markets().filter_map(|market| count(market.liquidation))),
        Some(features.identity.len() as f64),
        position(|position| position.collateral.iter().map(|one| one.usd).sum()),
        position(|position| position.debt.iter().map(|one| one.usd).sum()),
        positions().filter_map(|position| position.health_factor).min_by(f64::total_cmp),
    ]
}

/// `None` for an empty iterator.
fn sum(figures: impl Iterator<Item = f64>) -> Option<f64> {
    figures.fold(None, |sum, figure| Some(sum.unwrap_or(0.0) + figure))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_reads_the_figures_of_its_inputs() {
        let read = |reads: &[&str]| {
            let reads: Vec<String> = reads.iter().map(|read| (*read).to_owned()).collect();
            FIGURES.iter().filter(|figure| figure.is_read(&reads)).map(|figure| figure.name).collect::<Vec<_>>()
        };
        assert_eq!(read(&["as-of", "chains.coverage", "markets.borrow"]), ["Loans"]);
        assert_eq!(read(&["holdings.usd", "markets.position.debt.class"]), ["Held, USD", "Debt, USD"]);
        assert_eq!(read(&["identity"]), ["Attestations"]);
        assert_eq!(read(&["markets"]).len(), 11);
    }
}
