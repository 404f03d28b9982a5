//! The records of admission: minted keys, used units, and rates that hosts share.

use assay_domain::{PaymentId, Scope, Time};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// Minted API keys, by the SHA-256 of the key's text in hex.
pub(crate) const API_KEYS: Family<KeyRecord> = Family::listed("api-key/");

/// A minted API key, by the SHA-256 of its text.
pub fn api_key(hash: &[u8; 32]) -> Key<KeyRecord> {
    API_KEYS.key(hex::encode(hash))
}

/// The hash in hex of the minted API key of this name, so that names are unique.
pub(crate) fn api_key_name(name: &str) -> Key<String> {
    Family::new("api-key-name/").key(name)
}

/// Units used, by the name of a configured API key or the hash of a minted one in hex.
pub fn units(meter: &str) -> Key<u64> {
    Family::new("units/").key(meter)
}

/// The time in microseconds since the epoch at which the quota of `caller` under `policy` is full again. Only Redis
/// stores it, for at most a minute.
///
/// Times of keys are stored next to the units, so one write counts a request and takes its units. Times of addresses,
/// which are many, are spread over the nodes of a cluster.
pub fn rate(policy: &str, caller: &str) -> Key<u64> {
    let family = if policy == KEY { Family::new("rate/") } else { Family::spread("rate/") };
    family.key(format_args!("{policy}/{caller}"))
}

/// The policy of the rate of a key.
pub const KEY: &str = "key";

/// A minted API key. Its text is not stored; its hash is the key of this record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// Names the key in logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units it may spend; unmetered if absent.
    pub units: Option<u64>,
    /// Requests per minute; the configured default if absent; 0 means unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u32>,
    pub minted_at: Time,
}

/// The payer of work, for the refund after a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Payer {
    /// `meter` names the counter of the key; `limit` is absent for an unmetered key, and no units were taken.
    Key {
        meter: String,
        units: u64,
        /// The part of `units` that pays for reading a wallet, even if it cannot be scored.
        #[serde(default)]
        read: u64,
        limit: Option<u64>,
    },
    /// A settled payment.
    Payment(PaymentId),
}
