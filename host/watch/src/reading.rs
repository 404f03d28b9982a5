//! One reading of a measure: a value with the blocks behind it, or why there is none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use assay_domain::{B256, ModelVersion, ReadBlock, Time};

/// The readings of one trigger, by the name of the market; `""` for a measure of the whole wallet.
pub type Readings = BTreeMap<String, Reading>;

/// The result of reading a measure.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading {
    /// All of its inputs were read.
    Read(Sample),
    /// They were read, and there is no such value: the model does not score the wallet, or claims nothing for it.
    Nothing(String),
    /// An input was not read, and why. Nothing fires on it.
    Unread(String),
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// `None` for a health factor without debt. Ranges and coverages are ranks.
    pub value: Option<f64>,
    /// When reading finished.
    pub at: Time,
    /// The blocks at which the chains behind the value were read.
    pub blocks: Vec<ReadBlock>,
    /// The model that computed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ModelVersion>,
    /// The score behind a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// The dated liquidations behind their number, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub liquidations: Vec<Liquidated>,
}

impl Sample {
    /// The liquidation after the first `before` ones, if it is dated.
    pub(crate) fn liquidation(&self, before: Option<f64>) -> Option<&Liquidated> {
        let later = self.value.unwrap_or_default() - before.unwrap_or_default() - 1.0;
        self.liquidations.get(later as usize).filter(|_| later >= 0.0)
    }
}

/// A liquidation in the lending history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Liquidated {
    pub at: Time,
    /// The repaid debt in dollars, if its asset follows the dollar.
    pub usd: Option<f64>,
    /// Where it is in the chain, if that was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<LiquidationLog>,
}

/// The log of a liquidation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiquidationLog {
    pub block: u64,
    pub block_hash: B256,
    pub transaction: B256,
}

impl From<assay_score::LiquidationLog> for LiquidationLog {
    fn from(assay_score::LiquidationLog { block, block_hash, transaction }: assay_score::LiquidationLog) -> Self {
        Self { block, block_hash, transaction }
    }
}
