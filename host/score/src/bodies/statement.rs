//! Statements and their evidence.

use std::sync::Arc;

use assay_domain::{ReadBlock, Reasons, Source};
use assay_statement::{Signed, Signers, blocks_root, features_digest};
use serde::Serialize;
use utoipa::ToSchema;

use super::{ProvenanceBody, ReasonsBody};
use assay_rollout::{ScoreId, records::ServedRecord};

/// A signed statement of a score: an off-chain attestation of EAS, version 2, and where its evidence is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Statement)]
pub struct StatementBody {
    /// `sig` and `signer`, as the EAS SDK writes and verifies them.
    #[serde(flatten)]
    #[schema(value_type = SignedBody)]
    signed: Arc<Signed>,
    /// Id of the score.
    score_id: String,
    /// Path of the evidence: for the key that received the statement, or without a key if a payment bought it.
    evidence: String,
}

/// A signed off-chain attestation, in the format of the EAS SDK.
#[derive(ToSchema)]
#[schema(as = SignedAttestation)]
#[expect(dead_code, reason = "the schema of a value that another crate serialises")]
struct SignedBody {
    /// Domain, types, message and signature by EIP-712.
    #[schema(value_type = Object)]
    sig: serde_json::Value,
    /// The account that signed.
    signer: String,
}

/// What a statement of this score commits to.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Evidence)]
pub struct EvidenceBody {
    #[serde(flatten)]
    provenance: ProvenanceBody,
    /// SHA-256 of the features in the canonical form of RFC 8785.
    features_digest: String,
    /// Root of the OpenZeppelin standard Merkle tree over (chain id, number, hash) of the blocks.
    blocks_root: String,
    /// The blocks at which the chains were read.
    blocks: Vec<BlockBody>,
    /// Where each part of the features came from. What comes from an explorer or a price API cannot be read again.
    sources: Vec<SourceBody>,
    #[serde(flatten)]
    reasons: ReasonsBody,
}

/// A block at which a chain was read.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Block)]
pub struct BlockBody {
    chain_id: u64,
    number: u64,
    hash: String,
}

/// The source of one part of the features on one chain.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FeatureSource)]
pub(crate) struct SourceBody {
    chain_id: u64,
    /// `activity`, `holdings`, `prices`, `markets` or `identity`.
    #[schema(value_type = String)]
    part: &'static str,
    /// `chain`, `explorer` or `price_api`.
    #[schema(value_type = String)]
    from: &'static str,
    /// Number of the block at which the chain was asked; absent for other sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    block: Option<u64>,
}

/// The accounts that sign statements of this server.
#[derive(ToSchema)]
#[schema(as = AttestationSigners, example = json!({
    "schema": { "uid": "0x…", "text": "uint16 score,…", "resolver": "0x0000000000000000000000000000000000000000",
        "revocable": false },
    "contract": "0x4200000000000000000000000000000000000021", "contract_version": "1.0.1", "chain_id": 8453,
    "signers": [{ "address": "0xd8da6bf26964af9d7eed9e03e53415d37aa96045", "revoked": false }]
}))]
#[expect(dead_code, reason = "the schema of a type without one")]
pub struct SignersBody {
    /// The schema of EAS by which the content is encoded.
    #[schema(value_type = Object)]
    schema: Signers,
    /// The EAS contract for which statements are signed, its version and its chain.
    contract: String,
    contract_version: String,
    chain_id: u64,
    /// The current signer has no `until`. Statements of an earlier signer are valid if they were issued before its
    /// `until`; statements of a revoked signer are never valid.
    #[schema(value_type = Vec<Object>)]
    signers: Vec<String>,
}

impl StatementBody {
    pub fn new(score_id: String, signed: Arc<Signed>) -> Self {
        Self { signed, evidence: format!("/api/v2/score/{score_id}/evidence"), score_id }
    }
}

impl EvidenceBody {
    /// # Errors
    /// The failure of the canonical form.
    pub fn new(id: &ScoreId, mut record: ServedRecord, reasons: Option<Reasons>) -> Result<Self, serde_json::Error> {
        let (blocks, sources) = (std::mem::take(&mut record.blocks), std::mem::take(&mut record.sources));
        Ok(Self {
            features_digest: features_digest(&record.features)?.to_string(),
            blocks_root: blocks_root(&blocks).to_string(),
            blocks: blocks.into_iter().map(Into::into).collect(),
            sources: sources.into_iter().map(Into::into).collect(),
            reasons: reasons.into(),
            provenance: ProvenanceBody::new(id, record),
        })
    }
}

impl From<ReadBlock> for BlockBody {
    fn from(ReadBlock { chain_id, number, hash }: ReadBlock) -> Self {
        Self { chain_id, number, hash: hash.to_string() }
    }
}

impl From<Source> for SourceBody {
    fn from(Source { chain_id, part, from, block }: Source) -> Self {
        Self { chain_id, part: part.as_str(), from: from.as_str(), block }
    }
}
