//! The provenance of a served score: this record and the model's bytes give exactly the same answer again.

use serde::{Deserialize, Serialize};

use assay_domain::{
    Address, Coverage, FactorRecord, ModelPin, ReadBlock, Score, Source, Time,
    features::{Features, exact},
};
use assay_registry::Chosen;

/// One served score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ServedRecord {
    pub address: Address,
    /// Name of the API key for which it was first computed.
    pub asked_by: String,
    /// When it was calculated.
    pub at: Time,
    /// When the read of the chains behind it had ended.
    pub as_of: Time,
    pub coverage: Coverage,
    /// Version of the server.
    pub host: String,
    pub model: ModelPin,
    /// Why this model answered; absent in records of earlier versions.
    #[serde(default)]
    pub chosen: Option<Chosen>,
    /// The exact input of the model.
    pub features: Features,
    #[serde(default)]
    pub boost: Option<BoostRecord>,
    pub score: Score,
    pub decile: u8,
    pub factors: Vec<FactorRecord>,
    /// The blocks that were read; empty in the oldest records.
    #[serde(default)]
    pub blocks: Vec<ReadBlock>,
    #[serde(default)]
    pub sources: Vec<Source>,
}

/// Off-chain assets on top of a score, and the model that added them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoostRecord {
    pub model: ModelPin,
    #[serde(with = "exact")]
    pub total_asset_usd: f64,
}
