//! Who this model is, and what it claims.

use crate::{
    table::RATES,
    types::{Claims, Kind, ModelInfo, Rate, Rating},
};

/// Kind, version, inputs and claims, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Credit,
        version: "1.2".into(),
        title: "Fitted to liquidations, for wallets that owe".into(),
        authors: vec!["Assay".into()],
        reads: READS.iter().map(|input| String::from(*input)).collect(),
        claims: Some(claims()),
    }
}

/// The rates of the test that followed the fit in time. The ranges of which it had too few wallets have none.
fn claims() -> Claims {
    let ranges = [Rating::Low, Rating::Fair, Rating::Good, Rating::VeryGood, Rating::Excellent];
    let rate = |(range, [low, estimate, high]): (Rating, &[f64; 3])| Rate {
        range,
        low: *low,
        estimate: *estimate,
        high: *high,
    };
    Claims {
        outcome: "liquidated".into(),
        horizon_days: 90,
        population: "wallets liquidated at least once before on Aave v2 of Ethereum, October 2021 to April 2022, \
            whose positions were not read"
            .into(),
        rates: ranges.into_iter().zip(&RATES).map(rate).collect(),
    }
}

/// Every input that can move the score. Markets count only where `feeds-score` is set.
const READS: [&str; 18] = [
    "as-of",
    "chains.coverage",
    "chains.supplied-usd",
    "chains.borrowed-usd",
    "markets.coverage",
    "markets.feeds-score",
    "markets.supply",
    "markets.withdraw",
    "markets.borrow",
    "markets.repay",
    "markets.liquidation",
    "markets.first-event",
    "markets.last-liquidation",
    "markets.supplied-usd",
    "markets.borrowed-usd",
    "markets.position.coverage",
    "markets.position.health-factor",
    "markets.position.liquidation-threshold",
];
