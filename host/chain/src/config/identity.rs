//! `[identity]`: the attesters whose attestations about a wallet count.

use std::{collections::BTreeSet, time::Duration};

use assay_domain::{
    Address, B256, ChainId,
    settings::{self, Problems},
};
use serde::Deserialize;

/// Attestations that count.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// A source is read if its chain is configured.
    #[serde(default)]
    pub sources: Vec<SourceConfig>,
}

impl Identity {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let mut sources = BTreeSet::new();
        for (i, source) in self.sources.iter().enumerate() {
            let at = format!("sources[{i}]");
            let nameless = source.provider.is_empty();
            found.add_if(nameless, format!("{at}.provider"), "empty; attestations are told by it");
            let twice = !sources.insert((source.chain, source.eas, source.schema, source.attester));
            found.add_if(twice, at, "this schema of this attester is listed twice");
        }
        found
    }
}

/// One schema of one attester in the Ethereum Attestation Service.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceConfig {
    pub provider: String,
    /// Kind of the statement, if the provider makes several.
    pub kind: Option<String>,
    pub chain: ChainId,
    /// The attestation service.
    pub eas: Address,
    /// The contract that finds the attestation of a wallet.
    pub index: Address,
    pub lookup: Lookup,
    pub schema: B256,
    /// The only account whose attestations count.
    pub attester: Address,
    pub data: Data,
    /// Age at which an attestation expires that has no expiry of its own; in the file in seconds.
    #[serde(default, deserialize_with = "settings::seconds")]
    pub max_age: Option<Duration>,
}

/// The function of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lookup {
    /// `getAttestationUid(address,bytes32)`, as in Coinbase's index.
    AttestationUid,
    /// `getUserAttestation(address,bytes32)`, as in Human Passport's resolver.
    UserAttestation,
    /// `getReceivedAttestationUIDs(…)`, as in the indexer of the attestation service.
    Received,
}

/// The data that an attestation must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Data {
    /// Anything.
    Any,
    /// `bool`, true.
    Flag,
    /// `string`, a country code of two capital letters.
    Country,
    /// A score of Human Passport, version 2.
    PassportScore,
}
