//! `[reputation]`: the account that sends feedback to the chain, and its limits.

use std::time::Duration;

use alloy::signers::local::PrivateKeySigner;
use assay_domain::{
    ModelVersion, Secret,
    settings::{self, Problems},
};
use assay_outbox::{gas::config::Gas, nonce::Rules};
use assay_score::config::account;
use serde::Deserialize;

/// Looks at the chain before the same transaction is sent again.
const RESEND: u32 = 5;

/// The sending account, the models behind the feedback, and the times of a submission.
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
    /// Blocks on top of a transaction after which it is confirmed.
    #[serde(default = "confirmations")]
    pub confirmations: u64,
    /// Highest fee for a unit of gas, in billionths of the native currency.
    #[serde(default = "max_fee")]
    pub max_fee_gwei: f64,
    /// Maximum number of transactions of the account in progress; payments use at most half of them.
    #[serde(default = "max_transactions")]
    pub max_transactions: usize,
    /// Maximum loss of the account on transactions without revenue.
    #[serde(default)]
    pub gas: Gas,
    /// Time between two reads of the chain while transactions are pending.
    #[serde(rename = "poll_ms", default = "poll", deserialize_with = "settings::millis")]
    pub poll: Duration,
    /// Time after which a pending transaction is replaced by one with a higher fee.
    #[serde(rename = "replace_after_ms", default = "replace_after", deserialize_with = "settings::millis")]
    pub replace_after: Duration,
    /// Maximum wait for a lending history that is still being read.
    #[serde(rename = "coverage_wait_ms", default = "coverage_wait", deserialize_with = "settings::millis")]
    pub coverage_wait: Duration,
    /// Time after which a submission fails.
    #[serde(rename = "give_up_after_ms", default = "give_up_after", deserialize_with = "settings::millis")]
    pub give_up_after: Duration,
    /// Days for which a submission is kept after its last change; 0: for ever.
    #[serde(default = "keep_days")]
    pub keep_days: u32,
    /// The endpoint that the feedback names as its source.
    #[serde(default)]
    pub endpoint: String,
}

impl Reputation {
    /// The account that sends feedback; `None` if `signer` is not a private key.
    pub fn account(&self) -> Option<PrivateKeySigner> {
        account(&self.signer)
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.add_if(self.account().is_none(), "signer", "not a private key: 32 bytes in hex");
        for (key, version) in [("credit_model", &self.credit_model), ("sybil_model", &self.sybil_model)] {
            found.add_if(version.parse::<ModelVersion>().is_err(), key, "not a version, such as \"1.0\"");
        }
        found.add_if(self.confirmations > 10_000, "confirmations", "more than 10000 blocks");
        // 64 bits hold the fee in wei.
        let fits = self.max_fee_gwei > 0.0 && self.max_fee_gwei <= 1e9;
        found.add_if(!fits, "max_fee_gwei", "must be above 0 and at most 1000000000");
        for (key, value) in [("poll_ms", self.poll), ("replace_after_ms", self.replace_after)] {
            let wrong = !(10..=3_600_000).contains(&value.as_millis());
            found.add_if(wrong, key, "must be 10 to 3600000 milliseconds");
        }
        let wrong = !(2..=1_000).contains(&self.max_transactions);
        found.add_if(wrong, "max_transactions", "must be 2 to 1000");
        let wrong = !(1_000..=604_800_000).contains(&self.give_up_after.as_millis());
        found.add_if(wrong, "give_up_after_ms", "must be 1000 to 604800000 milliseconds, a week");
        let wrong = self.keep_days != 0 && !(8..=3_650).contains(&self.keep_days);
        found.add_if(wrong, "keep_days", "must be 8 to 3650, or 0 to keep submissions for ever");
        let wrong = self.endpoint.len() > 200 || !self.endpoint.bytes().all(|byte| byte.is_ascii_graphic());
        found.add_if(wrong, "endpoint", "must be at most 200 printable letters without spaces");
        found.section("gas", self.gas.problems());
        found
    }

    /// The limits of the account's transactions.
    pub fn rules(&self) -> Rules {
        Rules {
            ceiling: (self.max_fee_gwei * 1e9) as u64,
            replace_after: self.replace_after,
            resend_after: self.poll * RESEND,
            most: self.max_transactions,
        }
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

fn max_transactions() -> usize {
    16
}

fn keep_days() -> u32 {
    400
}

fn poll() -> Duration {
    Duration::from_secs(1)
}

fn replace_after() -> Duration {
    Duration::from_secs(30)
}

fn coverage_wait() -> Duration {
    Duration::from_secs(45)
}

fn give_up_after() -> Duration {
    Duration::from_secs(3_600)
}
