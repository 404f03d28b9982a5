//! The values that stand in the store. Their JSON is a format: a field may be added as optional, never renamed or retyped.

mod submission;

use alloy::primitives::I256;
use serde::{Deserialize, Serialize};

pub use submission::{
    Coverages, DocumentRecord, FeedbackRecord, LandedRecord, Payer, RetryRecord, ScoresRecord, SignedRecord, SlotRecord, Stage, Start,
    SubmissionRecord,
};

use crate::{
    config::Scope,
    domain::{Address, B256, Digest, EventCounts, ModelVersion, Time},
};

/// A model by version and bytes, so that a role can never point to other bytes than it was given to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPin {
    pub version: ModelVersion,
    #[serde(with = "hex_digest")]
    pub digest: Digest,
}

/// Who answers for one kind of model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesRecord {
    pub champion: Option<ModelPin>,
    /// Earlier champions, latest first: where to go back to.
    #[serde(default)]
    pub previous: Vec<ModelPin>,
    #[serde(default)]
    pub challengers: Vec<ModelPin>,
}

/// What is settled of one address in one lending market, through `synced_to_block`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LendingProgress {
    pub counts: EventCounts,
    pub first_event_at: Option<Time>,
    pub last_event_at: Option<Time>,
    pub last_liquidation_at: Option<Time>,
    pub synced_to_block: u64,
    /// Hash of that block: another one there means the chain was reorganised or replaced.
    pub synced_block_hash: B256,
    /// What the amounts of the events add up to. Absent where they were not summed, and in records older than this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<FlowRecord>>,
}

/// Which part of a position an amount belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Supplied, bearing interest.
    Supply,
    /// Borrowed.
    Debt,
    /// Supplied where positive, borrowed where negative.
    Base,
    /// Supplied, bearing none.
    Collateral,
}

/// What moved of one asset, in its smallest unit. Sums are signed decimal numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRecord {
    pub side: Side,
    pub asset: Address,
    pub net: I256,
    /// The most and the least that the sum was on the way: never below zero, and never above.
    pub high: I256,
    pub low: I256,
    pub moves: u64,
    /// Some of it was debt at a rate of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed_rate: bool,
}

/// A minted API key. Its text was shown once and is nowhere; its hash is the key of this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Names the key in logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units it may spend; unmetered where absent.
    pub units: Option<u64>,
    pub minted_at: Time,
}

/// Who holds a lease, and until when.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LeaseRecord {
    pub holder: String,
    /// One more for each acquisition, also after release and expiry.
    pub token: u64,
    /// Milliseconds since the Unix epoch; 0 once released.
    pub until: u64,
}

mod hex_digest {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use crate::domain::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes).map_err(|error| D::Error::custom(format!("digest {text:?}: {error}")))?;
        Ok(Digest(bytes))
    }
}
