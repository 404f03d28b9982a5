//! `[reputation]`: how feedback reaches the chain.

use alloy::signers::local::PrivateKeySigner;
use serde::Deserialize;

use assay_domain::ModelVersion;
use assay_domain::Secret;

/// How reputation reaches the chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reputation {
    /// Private key of the account that sends feedback: 32 bytes in hex.
    pub signer: Secret,
    /// Version of the credit model behind the `creditScore` tag.
    #[serde(default = "first_version")]
    pub credit_model: String,
    /// Version of the sybil model behind the `sybilRisk` tag.
    #[serde(default = "first_version")]
    pub sybil_model: String,
    /// Blocks on top of a transaction before it counts as confirmed.
    #[serde(default = "confirmations")]
    pub confirmations: u64,
    /// The most that is offered for a unit of gas, in billionths of the native currency.
    #[serde(default = "max_fee")]
    pub max_fee_gwei: f64,
    /// Time between two looks at the chain while transactions are under way, in milliseconds.
    #[serde(default = "poll")]
    pub poll_ms: u64,
    /// How long a transaction may wait before it is replaced by one that offers more, in milliseconds.
    #[serde(default = "replace_after")]
    pub replace_after_ms: u64,
    /// How long a lending history that is still being read is waited for, in milliseconds.
    #[serde(default = "coverage_wait")]
    pub coverage_wait_ms: u64,
    /// How long a submission is tried before it fails, in milliseconds.
    #[serde(default = "give_up_after")]
    pub give_up_after_ms: u64,
    /// What the feedback names as the endpoint that it came from; nothing where absent.
    #[serde(default)]
    pub endpoint: String,
}

impl Reputation {
    /// The account that sends feedback; `None` where the key is none.
    pub fn account(&self) -> Option<PrivateKeySigner> {
        PrivateKeySigner::from_slice(&self.signer_key()?).ok()
    }

    /// The key of the account, as 32 bytes; `None` where it is none.
    fn signer_key(&self) -> Option<[u8; 32]> {
        let text = self.signer.expose().trim();
        let mut key = [0; 32];
        hex::decode_to_slice(text.strip_prefix("0x").unwrap_or(text), &mut key).ok()?;
        Some(key).filter(|key| key.iter().any(|byte| *byte != 0))
    }

    /// What is wrong with it, by key.
    pub(super) fn problems(&self) -> Vec<(&'static str, &'static str)> {
        let mut found = Vec::new();
        if self.signer_key().is_none() {
            found.push(("signer", "not a private key: 32 bytes in hex"));
        }
        for (key, version) in [("credit_model", &self.credit_model), ("sybil_model", &self.sybil_model)] {
            if version.parse::<ModelVersion>().is_err() {
                found.push((key, "not a version, such as \"1.0\""));
            }
        }
        if self.confirmations > 10_000 {
            found.push(("confirmations", "more than 10000 blocks"));
        }
        // Wei are counted in 64 bits.
        if !(self.max_fee_gwei > 0.0 && self.max_fee_gwei <= 1e9) {
            found.push(("max_fee_gwei", "must be above 0 and at most 1000000000"));
        }
        for (key, value) in [("poll_ms", self.poll_ms), ("replace_after_ms", self.replace_after_ms)] {
            if !(10..=3_600_000).contains(&value) {
                found.push((key, "must be 10 to 3600000 milliseconds"));
            }
        }
        if !(1_000..=604_800_000).contains(&self.give_up_after_ms) {
            found.push(("give_up_after_ms", "must be 1000 to 604800000 milliseconds, a week"));
        }
        if self.endpoint.len() > 200 || !self.endpoint.bytes().all(|byte| byte.is_ascii_graphic()) {
            found.push(("endpoint", "must be at most 200 printable letters without spaces"));
        }
        found
    }

    /// [`max_fee_gwei`](Self::max_fee_gwei) in wei.
    pub fn max_fee(&self) -> u64 {
        (self.max_fee_gwei * 1e9) as u64
    }
}

fn first_version() -> String {
    "1.0".into()
}

fn confirmations() -> u64 {
    2
}

fn max_fee() -> f64 {
    50.0
}

fn poll() -> u64 {
    1_000
}

fn replace_after() -> u64 {
    30_000
}

fn coverage_wait() -> u64 {
    45_000
}

fn give_up_after() -> u64 {
    3_600_000
}
