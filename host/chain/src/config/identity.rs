//! `[identity]`: who attests to whose address it is.

use serde::Deserialize;

use assay_domain::{Address, B256, ChainId};

/// Attestations that count.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Asked where their chain is configured.
    #[serde(default)]
    pub sources: Vec<SourceConfig>,
}

/// One schema of one attester in the Ethereum Attestation Service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    pub provider: String,
    /// Which of the provider's statements, where it makes several.
    pub kind: Option<String>,
    pub chain: ChainId,
    /// The attestation service.
    pub eas: Address,
    /// The contract that knows which attestation a wallet has.
    pub index: Address,
    pub lookup: Lookup,
    pub schema: B256,
    /// Whose attestations count.
    pub attester: Address,
    pub data: Data,
    /// Age in seconds at which an attestation without an expiry of its own ends.
    pub max_age: Option<u64>,
}

/// How an index is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lookup {
    /// `getAttestationUid(address,bytes32)`, as Coinbase's does.
    AttestationUid,
    /// `getUserAttestation(address,bytes32)`, as Human Passport's resolver does.
    UserAttestation,
    /// `getReceivedAttestationUIDs(…)`, as the indexer of the service itself does.
    Received,
}

/// What an attestation has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Anything.
    Any,
    /// `bool`, true.
    Flag,
    /// `string`, the two capitals of a country.
    Country,
    /// A score of Human Passport, in its second form.
    PassportScore,
}
