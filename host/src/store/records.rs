//! The values that stand in the store. Their JSON is a format: a field may be added as optional, never renamed or
//! retyped.

mod audit;
mod payment;
mod served;
mod shadow;
mod submission;

use std::collections::{BTreeMap, BTreeSet};

use alloy::primitives::I256;
use serde::{Deserialize, Serialize};

pub use audit::{AuditEnd, AuditRecord};
pub use payment::{OrderRecord, PaymentRecord, PaymentState};
pub use served::{BoostRecord, FactorRecord, ServedRecord};
pub use shadow::{CostRecord, PairCounts, PairRecord, ShadowRecord};
pub use submission::{
    Coverages, DocumentRecord, FeedbackRecord, LandedRecord, Payer, RetryRecord, ScoresRecord, SignedRecord,
    SlotRecord, Stage, Start, SubmissionRecord,
};

use crate::config::Scope;
use assay_domain::{Address, B256, Digest, EventCounts, ModelKind, ModelRef, ModelVersion, Seen, Time, U256};

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

/// A component that was uploaded to a fleet, or that one was taken off every shelf.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentRecord {
    pub kind: ModelKind,
    pub pin: ModelPin,
    pub gone: bool,
}

impl ComponentRecord {
    pub fn reference(&self) -> ModelRef {
        ModelRef { kind: self.kind, version: self.pin.version.clone(), digest: self.pin.digest }
    }
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
    /// What the amounts of the events add up to. Absent where they were not summed, and in records older than this
    /// field.
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

/// What is listed of one address on one chain, as far as it is settled: each list of an explorer through its last row
/// that no reorganisation reaches any more. A list that shows nothing for a while may be behind, so that no empty span
/// is settled; by the logs of a node the lists of tokens are settled through the last block that no reorganisation
/// reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityProgress {
    /// First block of each list that is not settled.
    pub transactions_from: u64,
    pub transfers_from: u64,
    pub collectibles_from: u64,
    pub multi_from: u64,
    /// The newest settled row, or block: another time of that block means that the chain was replaced.
    pub anchor: Option<Seen>,
    /// The hash of that block, where the logs of a node tell: an explorer's rows name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_hash: Option<B256>,
    /// Transactions sent.
    pub sent: u64,
    pub first_sent: Option<Seen>,
    pub last_sent: Option<Seen>,
    /// Token transfers in and out.
    pub transfers: u64,
    /// The smallest hashes of the others in transactions; all of them where none was left out.
    pub others: BTreeSet<u64>,
    pub others_left_out: bool,
    /// Days since 1970 (UTC) with a transaction sent.
    pub days: BTreeSet<u32>,
    /// Hours of the day (UTC) with a transaction sent, one bit each.
    pub hours: u32,
    /// Times between transactions sent, counted by class of length.
    pub gaps: BTreeMap<u32, u64>,
    /// ERC-20 contracts that moved something from or to the address, with the block of the last time.
    pub tokens: BTreeMap<Address, u64>,
    pub tokens_left_out: bool,
    /// Non-fungible tokens that came and were not seen to go, latest last.
    pub nfts: Vec<NftRecord>,
}

/// One non-fungible token of which an address may have some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NftRecord {
    pub contract: Address,
    pub id: U256,
    /// ERC-1155, of which many may have some.
    pub multi: bool,
}

/// What a token contract says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenRecord {
    pub symbol: Option<String>,
    pub name: Option<String>,
    pub decimals: Option<u8>,
    /// The tokens that a share of it is a share of.
    pub pair: Option<(Address, Address)>,
    /// The lending pool whose deposit or debt it stands for, as it says.
    pub pool: Option<Address>,
}

/// A minted API key. Its text was shown once and is nowhere; its hash is the key of this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Names the key in logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units it may spend; unmetered where absent.
    pub units: Option<u64>,
    /// Requests it may make a minute; that of the configuration where absent, 0: without bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    pub minted_at: Time,
}

/// How far the events of an identity registry were taken in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProgress {
    pub synced_to_block: u64,
    /// Hash of that block: another one there means the chain was reorganised or replaced.
    pub synced_block_hash: B256,
    /// Pages there are, some of which may be empty.
    pub pages: u64,
}

/// Some agents, by ascending id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPage {
    pub agents: Vec<AgentRecord>,
}

/// An agent as far as the settled events tell, and what its document said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentRecord {
    pub id: u64,
    pub owner: Address,
    /// Keccak-256 of the token's URI.
    pub uri: B256,
    /// Where the document is to be fetched, if it is not the URI itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// What it said when it was last read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<AgentMetadataRecord>,
    /// Why it was not read last time, in a word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// When to fetch it next, in seconds since the Unix epoch; never where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// Times in a row that it could not be read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failures: u32,
}

/// The document of an agent, cleaned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentMetadataRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
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

    use assay_domain::Digest;

    pub(super) fn serialize<S: Serializer>(digest: &Digest, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(digest)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut bytes = [0; 32];
        hex::decode_to_slice(&text, &mut bytes)
            .map_err(|error| D::Error::custom(format!("digest {text:?}: {error}")))?;
        Ok(Digest(bytes))
    }
}
