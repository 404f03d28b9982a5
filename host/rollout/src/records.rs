//! The records of rollout: roles, uploaded components, the audit log, the measurements of the shadow, the provenance of
//! served scores, and the scores that wait for their outcome. Their JSON is a format: a field may be added as optional,
//! never renamed or retyped.

mod inputs;
mod served;
mod shadow;
mod wallets;

use std::collections::BTreeMap;

use assay_domain::{Address, Digest, ModelKind, ModelPin, ModelRef, ModelVersion, Score, Standing, Time};
use assay_registry::Split;
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use uuid::Uuid;

pub use inputs::{InputsRecord, Segment};
pub use served::{BoostRecord, ServedRecord};
pub use shadow::{CostRecord, PairCounts, PairRecord, ShadowRecord};
pub use wallets::{Answer, WalletAnswers, WalletSample};

/// Uploaded components, in a store that hosts share.
pub const COMPONENTS: Family<ComponentRecord> = Family::listed("component/");
/// Measurements of credit challengers, by hour since the epoch and process.
pub const SHADOWS: Family<ShadowRecord> = Family::listed("shadow/credit/");
/// Scores that are compared with later outcomes, by hour since the epoch and process.
pub(crate) const OBSERVED: Family<ObservedRecord> = Family::listed("observed/");
/// The inputs of scored wallets, by week since the epoch and model.
pub(crate) const INPUTS: Family<InputsRecord> = Family::listed("week-inputs/");
/// The price of ether in dollars at the start of a UTC day, by the day since the epoch.
pub(crate) const ETHER: Family<f64> = Family::listed("ether/");
/// The steps of the audit log. Ids begin with the time, so keys sort by time.
pub(crate) const AUDIT: Family<AuditRecord> = Family::listed("audit/");
/// The outcome of each step of the audit log.
pub(crate) const AUDIT_END: Family<AuditEnd> = Family::listed("audit-end/");

/// Roles of the models of one kind.
pub fn roles(kind: ModelKind) -> Key<RolesRecord> {
    Family::new("roles/").key(kind)
}

/// An uploaded component.
pub fn component(kind: ModelKind, version: &ModelVersion) -> Key<ComponentRecord> {
    COMPONENTS.key(format_args!("{kind}/{version}"))
}

/// The bytes of an uploaded component, in hex.
pub fn component_bytes(digest: &Digest) -> Key<String> {
    Family::new("component-bytes/").key(digest)
}

/// The provenance of a served score.
pub fn served(id: Uuid) -> Key<ServedRecord> {
    Family::spread("score/").key(id.simple())
}

/// The key of the same record, to test whether it exists without parsing it.
pub(crate) fn served_at_all(id: Uuid) -> Key<IgnoredAny> {
    Family::spread("score/").key(id.simple())
}

/// The secret that binds the ids of scores to their owners: 32 bytes in hex.
pub(crate) fn score_secret() -> Key<String> {
    Key::single("score-secret")
}

/// A step of the audit log.
pub fn audit(id: &str) -> Key<AuditRecord> {
    AUDIT.key(id)
}

/// The outcome of a step of the audit log.
pub(crate) fn audit_end(id: &str) -> Key<AuditEnd> {
    AUDIT_END.key(id)
}

/// Measurements of credit challengers by one process in one hour since the epoch.
pub fn shadow(hour: i64, process: &str) -> Key<ShadowRecord> {
    SHADOWS.key(format_args!("{hour}/{process}"))
}

/// The scores that one process observed in one hour since the epoch.
pub fn observed(hour: i64, process: &str) -> Key<ObservedRecord> {
    OBSERVED.key(format_args!("{hour}/{process}"))
}

/// The wallets that were scored in one week since the epoch, as one model sees them.
pub fn inputs(week: u64, model: &Digest) -> Key<InputsRecord> {
    INPUTS.key(format_args!("{week}/{model}"))
}

/// The price of ether at the start of a UTC day.
pub(crate) fn ether(day: u64) -> Key<f64> {
    ETHER.key(day)
}

/// The roles of one kind of model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolesRecord {
    pub champion: Option<ModelPin>,
    /// Earlier champions, latest last: a rollback makes the last one champion.
    #[serde(default)]
    pub previous: Vec<ModelPin>,
    #[serde(default)]
    pub challengers: Vec<ModelPin>,
    #[serde(default)]
    pub split: Split,
    /// The versions of `split` with their digests; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub split_models: Vec<ModelPin>,
    /// When an operator last made each version champion or challenger, which returns it to service on every host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub assigned: BTreeMap<ModelVersion, Time>,
}

/// A component that was uploaded to a fleet, or removed from it.
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
    /// The facts that decide to which populations the wallet belonged.
    pub standing: Standing,
    /// Part of the debt was in vaults, whose liquidations the index does not have by wallet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_outcome_hidden: bool,
    /// Its record, if it was served; absent in the oldest records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record: Option<Uuid>,
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

/// A step that is about to be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRecord {
    pub at: Time,
    /// Name of the API key, or `assay` for a step of the server itself.
    pub by: String,
    /// `stage`, `challenge`, `promote`, `split`, `unsplit` (the server took a version out of the split), `rollback`,
    /// `remove`, `bench` (taken out of service), or `appoint` (the first champion of a kind, which the server chose).
    pub action: String,
    pub kind: ModelKind,
    /// The models in the role before the step.
    #[serde(default)]
    pub from: Vec<ModelPin>,
    /// The models in the role after it.
    #[serde(default)]
    pub to: Vec<ModelPin>,
    #[serde(default)]
    pub why: Option<String>,
    /// The bounds of promotion were not applied.
    #[serde(default)]
    pub forced: bool,
}

/// The outcome of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEnd {
    pub at: Time,
    /// `done`, `refused` or `not_done`.
    pub outcome: String,
    #[serde(default)]
    pub detail: Option<String>,
}
