//! Scores that are held against what happened after them.

use serde::{Deserialize, Serialize};

use assay_domain::{Address, ModelPin, Score, Standing};

/// The scores that one process observed in one hour.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ObservedRecord {
    pub scores: Vec<ObservedScore>,
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
