//! Who an address is said to belong to.

use serde::Serialize;
use utoipa::ToSchema;

use super::{Checksummed, Moment, score::CoverageName};
use crate::scoring::IdentityReport;
use assay_domain::{Attestation, B256, ChainId, Coverage, IdentitySource};

/// Names that stand for an address and attestations about its owner.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(title = "Identity", example = json!({
    "address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "attestations": [{
        "provider": "ens", "kind": null, "chain_id": 1, "name": "vitalik.eth", "schema": null, "uid": null, "attester": null,
        "issued_at": null, "expires_at": null, "score": null
    }],
    "count": 1, "coverage": "complete",
    "sources": [{ "provider": "ens", "kind": null, "chain_id": 1, "coverage": "complete" }],
    "cached": false, "timestamp": "2026-01-15T10:30:00Z"
}))]
pub struct IdentityBody {
    /// With its EIP-55 checksum.
    #[schema(value_type = String)]
    pub address: Checksummed,
    /// Those that held when they were read: not revoked, not expired, of the right attester.
    pub attestations: Vec<AttestationBody>,
    /// Distinct statements. The same one on several chains counts once.
    pub count: usize,
    /// Of the sources together. What is not complete may lack attestations that exist.
    #[schema(value_type = CoverageName)]
    pub coverage: Coverage,
    /// Who was asked. A provider that is not among them is not known to say nothing.
    pub sources: Vec<IdentitySourceBody>,
    /// Served from an earlier reading.
    pub cached: bool,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(title = "Attestation")]
pub struct AttestationBody {
    /// `ens`, `basename`, `coinbase`, `human-passport` and those that this server's operator has added.
    pub provider: String,
    /// Which of the provider's statements, where it makes several: `verified-account`.
    pub kind: Option<String>,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    /// The name, where it is one.
    pub name: Option<String>,
    /// Schema and number in the Ethereum Attestation Service, where it is there.
    #[schema(value_type = Option<String>)]
    pub schema: Option<B256>,
    #[schema(value_type = Option<String>)]
    pub uid: Option<B256>,
    #[schema(value_type = Option<String>)]
    pub attester: Option<Checksummed>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub issued_at: Option<Moment>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Moment>,
    /// The provider's own score, where it gives one.
    pub score: Option<f64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(title = "IdentitySource")]
pub struct IdentitySourceBody {
    pub provider: String,
    pub kind: Option<String>,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    /// `complete` or `failed`.
    #[schema(value_type = CoverageName)]
    pub coverage: Coverage,
}

impl IdentityBody {
    pub fn of(report: &IdentityReport) -> Self {
        let snapshot = &report.snapshot;
        Self {
            address: Checksummed(snapshot.address),
            attestations: snapshot.valid_attestations().map(AttestationBody::from).collect(),
            count: report.distinct.len(),
            coverage: snapshot.identity_coverage(),
            sources: snapshot.identity.iter().map(IdentitySourceBody::from).collect(),
            cached: report.cached,
            timestamp: Moment(snapshot.as_of),
        }
    }
}

impl From<&Attestation> for AttestationBody {
    fn from(from: &Attestation) -> Self {
        Self {
            provider: from.provider.clone(),
            kind: from.kind.clone(),
            chain_id: from.chain_id,
            name: from.name.clone(),
            schema: from.schema,
            uid: from.uid,
            attester: from.attester.map(Checksummed),
            issued_at: from.issued.map(Moment),
            expires_at: from.expires.map(Moment),
            score: from.score,
        }
    }
}

impl From<&IdentitySource> for IdentitySourceBody {
    fn from(from: &IdentitySource) -> Self {
        Self {
            provider: from.provider.clone(),
            kind: from.kind.clone(),
            chain_id: from.chain_id,
            coverage: from.coverage,
        }
    }
}
