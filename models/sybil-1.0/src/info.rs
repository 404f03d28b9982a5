//! Who this model is.

use crate::types::{Kind, ModelInfo};

/// Kind, version and inputs, as the host lists them.
pub fn describe() -> ModelInfo {
    ModelInfo {
        kind: Kind::Sybil,
        version: "1.0".into(),
        title: "Age, use, counterparties, timing and attestations".into(),
        authors: vec!["Assay".into()],
        reads: READS.iter().map(|input| String::from(*input)).collect(),
    }
}

/// Every input that can move the risk.
const READS: [&str; 10] = [
    "as-of",
    "chains.coverage",
    "chains.first-transaction",
    "chains.transactions",
    "chains.counterparties",
    "chains.active-days",
    "chains.active-hours",
    "chains.median-gap",
    "identity.provider",
    "identity.score",
];
