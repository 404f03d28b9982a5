//! The description of this model. Its card has the claims, by regime and horizon.

use crate::{
    table::VERSION,
    types::{Kind, ModelInfo},
};

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Credit,
        version: VERSION.into(),
        title: "Position and history as two risks of a liquidation".into(),
        authors: vec!["Assay".into()],
        reads: READS.iter().map(|input| String::from(*input)).collect(),
        claims: None,
    }
}

/// Every input that can move the score. Markets count only if `feeds-score` is set.
const READS: [&str; 28] = [
    "as-of",
    "chains.chain-id",
    "chains.coverage",
    "chains.supplied-usd",
    "chains.borrowed-usd",
    "markets.chain-id",
    "markets.protocol",
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
    "markets.events-coverage",
    "markets.events.time",
    "markets.events.kind",
    "markets.events.usd",
    "markets.position.coverage",
    "markets.position.collateral",
    "markets.position.debt",
    "markets.position.health-factor",
    "markets.position.collateral.class",
    "markets.position.debt.class",
];
