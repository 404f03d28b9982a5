//! Where a served score came from.

use assay_domain::{
    Coverage, FactorRecord, ModelKind, ModelPin,
    features::{Features, exact},
};
use assay_http::values::{Checksummed, CoverageName, Moment, RangeName};
use assay_rollout::{
    ScoreId,
    bodies::ReferenceBody,
    records::{BoostRecord, ServedRecord},
};
use serde::Serialize;
use utoipa::ToSchema;

/// A served score with everything that it was computed from.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Provenance)]
pub struct ProvenanceBody {
    id: String,
    /// With its EIP-55 checksum.
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(minimum = 300, maximum = 1000)]
    score: u32,
    #[schema(minimum = 1, maximum = 10)]
    decile: u8,
    range: RangeName,
    factors: Vec<WeighedFactorBody>,
    /// When the score was calculated.
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    /// When the reading that the score is based on ended.
    #[schema(value_type = String, format = DateTime)]
    snapshot_time: Moment,
    #[schema(value_type = CoverageName)]
    credit_events_coverage: Coverage,
    provisional: bool,
    /// The model, with the SHA-256 of its bytes.
    model: ReferenceBody,
    /// Off-chain assets that were added, and the model that added them; null when there were none.
    boost: Option<BoostBody>,
    /// Version of the server.
    host_version: String,
    /// The exact input of the model, in the format of a line of a features file: times in Unix seconds, dollars
    /// unrounded, infinities and NaN as strings.
    #[schema(value_type = Object)]
    features: Features,
}

/// The same, with the stored record, for an auditor.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuditedProvenance)]
pub struct AuditedBody {
    /// Name of the key that the score was first computed for; a cached score also answers other keys.
    asked_by: String,
    /// The record as it is in the store. `assay replay` computes the score from it.
    #[schema(value_type = Object)]
    record: ServedRecord,
    #[serde(flatten)]
    provenance: ProvenanceBody,
}

/// One part of the assessment, with its points.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WeighedFactor)]
pub struct WeighedFactorBody {
    pub label: String,
    /// A range name. Absent, like the description and the possible points, if the model was not asked for words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rating: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Points added to the base; negative when they are subtracted.
    pub points: i32,
    /// The most this factor can add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub possible: Option<u32>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Boost)]
struct BoostBody {
    model: ReferenceBody,
    #[serde(with = "exact")]
    total_asset_usd: f64,
}

impl ProvenanceBody {
    pub fn new(id: &ScoreId, record: ServedRecord) -> Self {
        let model = |kind: ModelKind, ModelPin { version, digest }: ModelPin| {
            ReferenceBody::from(assay_domain::ModelRef { kind, version, digest })
        };
        let boost = |BoostRecord { model: by, total_asset_usd }| BoostBody {
            model: model(ModelKind::Boost, by),
            total_asset_usd,
        };
        Self {
            id: id.to_string(),
            address: Checksummed(record.address),
            score: record.score.get(),
            decile: record.decile,
            range: record.score.range().into(),
            factors: record.factors.into_iter().map(Into::into).collect(),
            timestamp: Moment(record.at),
            snapshot_time: Moment(record.as_of),
            credit_events_coverage: record.coverage,
            provisional: record.coverage.is_provisional(),
            model: model(ModelKind::Credit, record.model),
            boost: record.boost.map(boost),
            host_version: record.host,
            features: record.features,
        }
    }
}

impl AuditedBody {
    pub fn new(id: &ScoreId, record: ServedRecord) -> Self {
        Self { asked_by: record.asked_by.clone(), record: record.clone(), provenance: ProvenanceBody::new(id, record) }
    }
}

impl From<FactorRecord> for WeighedFactorBody {
    fn from(FactorRecord { label, rating, description, points, possible }: FactorRecord) -> Self {
        Self { label, rating, description, points, possible }
    }
}
