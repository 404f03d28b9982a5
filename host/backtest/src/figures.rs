//! Features as a list of figures, for distributions.

use assay_domain::{
    Coverage,
    features::{ChainFeatures, Features, MarketFeatures},
};

/// The names of the figures, in the order of [`figures`].
pub(crate) const NAMES: [&str; 17] = [
    "Wallet age, days",
    "Days since last transaction",
    "Chains used",
    "Transactions",
    "Token transfers",
    "Counterparties",
    "Active days",
    "Held, USD",
    "Supplied, USD",
    "Borrowed, USD",
    "Lending markets used",
    "Deposits",
    "Withdrawals",
    "Loans",
    "Repayments",
    "Liquidations",
    "Attestations",
];

/// Whether a figure is a whole number, in the same order.
pub(crate) const WHOLE: [bool; NAMES.len()] =
    [false, false, true, true, true, true, true, false, false, false, true, true, true, true, true, true, true];

/// Seconds in a day.
const DAY: f64 = 86_400.0;

/// The figures, summed over chains and markets that could be read; `None` if there is no value.
pub(crate) fn figures(features: &Features) -> [Option<f64>; NAMES.len()] {
    let chains = || features.chains.iter().filter(|chain| chain.coverage != Coverage::Failed);
    let markets = || features.markets.iter().filter(|market| market.coverage != Coverage::Failed);
    let chain = |of: fn(&ChainFeatures) -> Option<f64>| sum(chains().filter_map(of));
    let market = |of: fn(&MarketFeatures) -> Option<f64>| sum(markets().filter_map(of));
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
    ]
}

/// `None` for an empty iterator.
fn sum(figures: impl Iterator<Item = f64>) -> Option<f64> {
    figures.fold(None, |sum, figure| Some(sum.unwrap_or(0.0) + figure))
}
