//! Stored records of one account's transactions. A transaction is stored before it is sent.

use alloy::primitives::Bytes;
use assay_domain::{B256, Time};
use serde::{Deserialize, Serialize};

/// All transactions signed with one nonce for one tag. At most one of them can be mined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotRecord {
    pub nonce: u64,
    /// Newest last.
    pub signed: Vec<SignedRecord>,
}

/// A signed transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedRecord {
    pub hash: B256,
    pub raw: Bytes,
    /// Wei for a unit of gas.
    pub max_fee: u64,
    pub priority_fee: u64,
    pub at: Time,
    /// It is empty and only uses the nonce, so that no other transaction with it can be mined.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancels: bool,
}

/// A mined feedback with enough confirmations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandedRecord {
    pub hash: B256,
    pub block: u64,
    pub gas_used: u64,
}
