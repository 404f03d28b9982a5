//! Names and attestations of an address.

use serde::Serialize;
use utoipa::ToSchema;

use crate::IdentityReport;
use assay_domain::{Attestation, B256, ChainId, Coverage, IdentitySource};
use assay_http::values::{Checksummed, CoverageName, Moment};

/// Names that resolve to an address, and attestations about its owner.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Identity, example = json!({
    "address": "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045",
    "attestations": [{
        "provider": "ens", "kind": null, "chain_id": 1, "name": "vitalik.eth", "schema": null, "uid": null,
        "attester": null,
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
    /// The attestations that were valid when they were read: not revoked, not expired, from the right attester.
    pub attestations: Vec<AttestationBody>,
    /// Distinct attestations. The same one on several chains counts once.
    pub count: usize,
    /// Coverage of all sources together. When it is not `complete`, existing attestations may be missing.
    #[schema(value_type = CoverageName)]
    pub coverage: Coverage,
    /// The providers that were read. For a provider that is not in the list, nothing is known.
    pub sources: Vec<IdentitySourceBody>,
    /// Whether the response comes from an earlier reading.
    pub cached: bool,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Attestation)]
pub struct AttestationBody {
    /// `ens`, `basename`, `coinbase`, `human-passport`, and those that the operator of this server has added.
    pub provider: String,
    /// Which attestation of the provider, when it has several: `verified-account`.
    pub kind: Option<String>,
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    /// The name, when the entry is a name.
    pub name: Option<String>,
    /// Schema and UID in the Ethereum Attestation Service, when the attestation is stored there.
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
    /// The provider's own score, when it has one.
    pub score: Option<f64>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = IdentitySource)]
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
