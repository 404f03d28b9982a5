//! What is kept of transactions of one account: each is persisted before it is sent.

use alloy::primitives::Bytes;
use assay_domain::{B256, Time};
use serde::{Deserialize, Serialize};

/// Everything ever signed with one nonce for one tag. Whichever is mined, the others cannot be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRecord {
    pub nonce: u64,
    /// Latest last.
    pub signed: Vec<SignedRecord>,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedRecord {
    pub hash: B256,
    pub raw: Bytes,
    /// In wei for each unit of gas.
    pub max_fee: u64,
    pub priority_fee: u64,
    pub at: Time,
    /// Gives no feedback: it takes the nonce away from those that would.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancels: bool,
}

/// A feedback that the chain holds, with its confirmations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedRecord {
    pub hash: B256,
    pub block: u64,
    pub gas_used: u64,
}
