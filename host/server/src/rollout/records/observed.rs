//! Scores that are held against what happened after them.

use serde::{Deserialize, Serialize};

use assay_domain::{Address, ModelPin, Score, Standing};

/// The scores that one process observed in one hour.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ObservedRecord {
    pub scores: Vec<ObservedScore>,
    /// Of which wallets the process keeps scores, for each model and week of which it does not keep all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleRecord>,
}

/// One model's score of one wallet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObservedScore {
    pub model: ModelPin,
    pub address: Address,
    /// The moment that the features describe, in Unix seconds: the outcome is counted from here.
    pub as_of: u64,
    pub score: Score,
    /// What decides to which populations the wallet belonged.
    pub standing: Standing,
}

/// The share of the wallets that one model's scores are kept of in one week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampleRecord {
    pub model: ModelPin,
    /// Weeks since the epoch.
    pub week: u64,
    /// How often all wallets were halved.
    pub halvings: u32,
}
