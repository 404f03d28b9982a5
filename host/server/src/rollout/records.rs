//! The records of rollout: roles, uploaded components, the audit log, the measurements of the shadow, the provenance of
//! served scores, and the scores that wait for their outcome. Their JSON is a format: a field may be added as optional,
//! never renamed or retyped.

mod audit;
mod observed;
mod served;
mod shadow;

use assay_domain::{Digest, ModelKind, ModelPin, ModelRef, ModelVersion};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize, de::IgnoredAny};
use uuid::Uuid;

pub use audit::{AuditEnd, AuditRecord};
pub use observed::{ObservedRecord, ObservedScore, SampleRecord};
pub use served::{BoostRecord, FactorRecord, ServedRecord};
pub use shadow::{CostRecord, PairCounts, PairRecord, ShadowRecord};

/// Uploaded components, in a store that hosts share.
pub const COMPONENTS: Family<ComponentRecord> = Family::listed("component/");
/// What each process measured of credit challengers, by hour since the epoch and process.
pub const SHADOWS: Family<ShadowRecord> = Family::listed("shadow/credit/");
/// Scores that are held against what happened later, by hour since the epoch and process.
pub const OBSERVED: Family<ObservedRecord> = Family::listed("observed/");
/// The steps of the audit log. Ids begin with the time, so keys sort by time.
pub const AUDIT: Family<AuditRecord> = Family::listed("audit/");
/// The outcome of each step of the audit log.
pub const AUDIT_END: Family<AuditEnd> = Family::listed("audit-end/");

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
pub fn served_at_all(id: Uuid) -> Key<IgnoredAny> {
    Family::spread("score/").key(id.simple())
}

/// The secret that binds the ids of scores to their owners: 32 bytes in hex.
pub fn score_secret() -> Key<String> {
    Key::single("score-secret")
}

/// A step of the audit log.
pub fn audit(id: &str) -> Key<AuditRecord> {
    AUDIT.key(id)
}

/// The outcome of a step of the audit log.
pub fn audit_end(id: &str) -> Key<AuditEnd> {
    AUDIT_END.key(id)
}

/// What one process measured of credit challengers in one hour since the epoch.
pub fn shadow(hour: i64, process: &str) -> Key<ShadowRecord> {
    SHADOWS.key(format_args!("{hour}/{process}"))
}

/// The scores that one process observed in one hour since the epoch.
pub fn observed(hour: i64, process: &str) -> Key<ObservedRecord> {
    OBSERVED.key(format_args!("{hour}/{process}"))
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
