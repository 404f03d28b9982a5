//! `[attestation]`: the key that signs statements of scores, and the EAS contract for which it signs.

use std::time::Duration;

use alloy::signers::local::PrivateKeySigner;
use assay_domain::{
    Address, ChainId, Secret, Time, address,
    settings::{self, Problems},
};
use assay_statement::{Domain, Signer};
use serde::Deserialize;

const HOUR: Duration = Duration::from_secs(3_600);

/// The signing key, and the keys before it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Attestation {
    /// Private key: 32 bytes in hex.
    pub signer: Secret,
    /// The chain of the EAS contract.
    #[serde(default = "base")]
    pub chain: ChainId,
    /// The EAS contract.
    #[serde(default = "contract")]
    pub contract: Address,
    /// The version of the contract, which its function `version` returns.
    #[serde(default = "contract_version")]
    pub contract_version: String,
    /// How long a statement holds.
    #[serde(rename = "valid_seconds", default = "valid", deserialize_with = "settings::seconds")]
    pub valid: Duration,
    /// Earlier signers.
    #[serde(default)]
    pub retired: Vec<Retired>,
}

/// An account that signed before.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retired {
    pub address: Address,
    /// When it stopped: earlier statements stay valid.
    pub until: Time,
    /// No statement of it is valid any more.
    #[serde(default)]
    pub revoked: bool,
}

impl Attestation {
    /// For the usual contract, without a key.
    pub(crate) fn unsigned() -> Self {
        Self {
            signer: Secret::new(String::new()),
            chain: base(),
            contract: contract(),
            contract_version: contract_version(),
            valid: valid(),
            retired: Vec::new(),
        }
    }

    /// The account that signs; `None` if `signer` is not a private key.
    pub fn account(&self) -> Option<PrivateKeySigner> {
        account(&self.signer)
    }

    pub fn domain(&self) -> Domain {
        Domain { version: self.contract_version.clone(), chain: self.chain, contract: self.contract }
    }

    /// Every signer, the present one first.
    pub fn signers(&self) -> Vec<Signer> {
        let present = self.account().map(|key| Signer { address: key.address(), until: None, revoked: false });
        let earlier = self.retired.iter().map(|Retired { address, until, revoked }| Signer {
            address: *address,
            until: Some(*until),
            revoked: *revoked,
        });
        present.into_iter().chain(earlier).collect()
    }

    /// `submits` is the account of `[reputation]`.
    pub fn problems(&self, submits: Option<Address>) -> Problems {
        let mut found = Problems::default();
        let own = self.account().map(|key| key.address());
        found.add_if(own.is_none(), "signer", "not a private key: 32 bytes in hex");
        let shared = own.is_some() && own == submits;
        found.add_if(
            shared,
            "signer",
            "also the key of [reputation]; give statements a key that sends no transactions",
        );
        found.add_if(self.chain == 0, "chain", "0; name the chain of the EAS contract");
        found.add_if(self.contract.is_zero(), "contract", "zero; name the EAS contract");
        let wrong = self.contract_version.is_empty() || self.contract_version.len() > 20;
        found.add_if(wrong, "contract_version", "must be 1 to 20 characters, such as \"1.3.0\"");
        let wrong = !(60..=31_622_400).contains(&self.valid.as_secs());
        found.add_if(wrong, "valid_seconds", "must be 60 to 31622400");
        for (i, retired) in self.retired.iter().enumerate() {
            let again = Some(retired.address) == own && !retired.revoked;
            let what = "the current signer; a retired account cannot sign again";
            found.add_if(again, format!("retired[{i}].address"), what);
            let revoked = Some(retired.address) == own && retired.revoked;
            let what = "revoked, and the current signer; configure a new key";
            found.add_if(revoked, format!("retired[{i}].address"), what);
        }
        found
    }
}

/// The account of a private key: 32 bytes in hex.
pub fn account(key: &Secret) -> Option<PrivateKeySigner> {
    let text = key.expose().trim();
    let mut bytes = [0; 32];
    hex::decode_to_slice(text.strip_prefix("0x").unwrap_or(text), &mut bytes).ok()?;
    PrivateKeySigner::from_slice(&bytes).ok()
}

fn base() -> ChainId {
    8_453
}

fn contract() -> Address {
    address!("0x4200000000000000000000000000000000000021")
}

fn contract_version() -> String {
    "1.0.1".into()
}

fn valid() -> Duration {
    24 * HOUR
}
