//! The description of this model, and its claims.

use crate::{
    table::{POPULATION, RATES, VERSION},
    types::{Claims, Kind, ModelInfo, Rate, Rating},
};

/// Kind, version, inputs and claims, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Credit,
        version: VERSION.into(),
        title: "The position first, fitted to liquidations of wallets that owe".into(),
        authors: vec!["Assay".into()],
        reads: READS.iter().map(|input| String::from(*input)).collect(),
        claims: Some(claims()),
    }
}

/// The rates of wallets that were scored by fits without them. Ranges with too few wallets have none.
fn claims() -> Claims {
    let rate = |&(range, [low, estimate, high]): &(usize, [f64; 3])| {
        let range = match range {
            0 => Rating::Low,
            1 => Rating::Fair,
            2 => Rating::Good,
            3 => Rating::VeryGood,
            _ => Rating::Excellent,
        };
        Rate { range, low, estimate, high }
    };
    Claims {
        outcome: "liquidated".into(),
        horizon_days: 90,
        population: POPULATION.into(),
        rates: RATES.iter().map(rate).collect(),
    }
}

/// Every input that can move the score. Markets count only if `feeds-score` is set.
const READS: [&str; 21] = [
    "as-of",
    "chains.chain-id",
    "chains.coverage",
    "chains.supplied-usd",
    "chains.borrowed-usd",
    "markets.chain-id",
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
    "markets.dollars.borrow",
    "markets.position.coverage",
    "markets.position.health-factor",
    "markets.position.liquidation-threshold",
];
