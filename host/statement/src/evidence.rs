//! The evidence of a score: the data that a statement commits to.

use std::fmt;

use assay_domain::{
    Address, Clamp, CodeSource, FactorRecord, ModelKind, ModelPin, ReadBlock, Reason, Reasons, Score, Source,
    features::Features,
};
use serde::{Deserialize, Serialize};

use crate::{attest::Statement, blocks, features_digest};

/// The parts of `GET /api/v2/score/{id}/evidence` that can be checked. The rest of the body describes them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    pub address: Address,
    pub score: Score,
    pub decile: u8,
    pub factors: Vec<FactorRecord>,
    pub model: EvidenceModel,
    pub features: Features,
    pub blocks: Vec<ReadBlock>,
    /// The origins of the features.
    #[serde(default)]
    pub sources: Vec<Source>,
    /// The reasons and where their codes come from, if they were requested. The statement does not commit to them: they
    /// follow from the model, its card and the features.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasons: Option<Vec<Reason>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason_codes: Option<CodeSource>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clamp: Option<Clamp>,
}

/// The model behind a score.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceModel {
    pub kind: ModelKind,
    #[serde(flatten)]
    pub pin: ModelPin,
}

/// A field of the evidence that differs from the statement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {evidence} in the evidence and {statement} in the statement")]
pub struct Difference {
    pub field: &'static str,
    pub evidence: String,
    pub statement: String,
}

impl Evidence {
    /// The reasons, if they were requested.
    pub fn reasons(&self) -> Option<Reasons> {
        let (list, codes) = (self.reasons.clone()?, self.reason_codes?);
        Some(Reasons { list, codes, clamp: self.clamp })
    }

    /// The differences between the evidence and `statement`; empty if the statement commits to this evidence.
    pub fn differences(&self, statement: &Statement) -> Vec<Difference> {
        let content = &statement.content;
        let mut found = Vec::new();
        let mut compare = |field, evidence: &dyn fmt::Display, statement: &dyn fmt::Display| {
            let (evidence, statement) = (evidence.to_string(), statement.to_string());
            if evidence != statement {
                found.push(Difference { field, evidence, statement });
            }
        };
        compare("address", &self.address, &statement.recipient);
        compare("score", &self.score.get(), &content.score.get());
        compare("decile", &self.decile, &content.decile.get());
        compare("features.as_of", &self.features.as_of, &content.as_of);
        compare("model.kind", &self.model.kind, &ModelKind::Credit);
        compare("model.version", &self.model.pin.version, &content.version);
        compare("model.digest", &self.model.pin.digest, &content.model);
        let features =
            features_digest::digest(&self.features).map_or_else(|error| error.to_string(), |digest| digest.to_string());
        compare("SHA-256 of features", &features, &content.features);
        compare("root of blocks", &blocks::root(&self.blocks), &content.blocks);
        found
    }
}
