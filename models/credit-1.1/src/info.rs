//! Who this model is.

use crate::types::{Kind, ModelInfo};

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Credit,
        version: "1.1".into(),
        title: "Five factors, with repayment history".into(),
        authors: vec!["Assay".into()],
        reads: READS.iter().map(|input| String::from(*input)).collect(),
    }
}

/// Every input that can move the score. Markets count only where `feeds-score` is set and `coverage` is not `failed`.
const READS: [&str; 17] = [
    "as-of",
    "chains.coverage",
    "chains.first-transaction",
    "chains.last-transaction",
    "chains.transactions",
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
    "holdings",
];
