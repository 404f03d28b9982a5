//! Values and rules of credit scoring. No async, no I/O, and no form of any response: the crate of each noun has its
//! bodies.

mod address;
mod agent;
mod assessment;
mod claim;
mod coverage;
mod debt;
mod exposure;
pub mod features;
mod freshness;
mod holding;
mod identity;
mod lending;
mod model;
mod name;
mod origin;
mod outlook;
mod payment;
mod pin;
mod position;
mod reason;
mod regime;
mod scope;
mod score;
mod secret;
pub mod settings;
mod snapshot;
pub mod stats;
mod subject;
mod summary;
mod tag;
mod text;
mod unread;

pub use address::{InvalidAddress, parse_address};
pub use agent::{Agent, AgentMetadata, AgentReputation, TagSummary};
pub use assessment::{Assessment, Factor, FactorRecord, RiskAssessment, Words};
pub use claim::{Claim, ClaimVerdict, Claimed, Population, claimed};
pub use coverage::Coverage;
pub use debt::Standing;
pub use exposure::ExposureClass;
pub use freshness::{Freshness, Lifetimes};
pub use holding::{AssetClass, Nft, Price, PriceSource, Prices, TokenBalance};
pub use identity::{Attestation, IdentitySource};
pub use lending::{EventCounts, EventKind, PoolEvents, PoolHistory, Protocol};
pub use model::{Claims, Digest, ModelInfo, ModelKind, ModelRef, ModelVersion, Rate};
pub use name::Name;
pub use origin::{ChainOrigin, Origin, Origins, ReadBlock, Source, SourcedPart};
pub use outlook::{MOST_CALLS, Outlook, Step, StepKind, Tried, outlook};
pub use payment::{Authorization, PaymentId, PaymentRefusal, SigningDomain, signer};
pub use pin::ModelPin;
pub use position::{AssetSide, CollateralAccount, Delegation, LendingMode, Position, PositionAsset, PriceFactors};
pub use reason::{Clamp, CodeSource, MOST_REASONS, Reason, ReasonCode, ReasonCodes, Reasons, When};
pub use regime::{Condition, EtherPrices};
pub use scope::Scope;
pub use score::{Decile, Range, Score};
pub use secret::Secret;
pub use snapshot::{Activity, ChainSnapshot, Seen, Snapshot};
pub use subject::Subject;
pub use summary::{ChainSummary, OffChain, SeenOn, Summary};
pub use tag::{Tag, UnknownTag};
pub use text::{display_text, has_hidden, is_plain};
pub use unread::{Part, Unread, UnreadByChain};

pub use alloy::primitives::{Address, B256, U256, address};

/// A moment, in UTC.
pub type Time = chrono::DateTime<chrono::Utc>;

/// An EIP-155 chain id.
pub type ChainId = u64;

/// Converts `seconds` since the Unix epoch to a moment; returns the epoch itself if no calendar has such a date.
pub fn time_from_unix(seconds: u64) -> Time {
    i64::try_from(seconds).ok().and_then(|s| chrono::DateTime::from_timestamp(s, 0)).unwrap_or_default()
}
