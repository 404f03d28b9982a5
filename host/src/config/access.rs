//! `[access]`: who may call what, and what it costs.

use serde::Deserialize;

use super::{Secret, X402};

/// Keys from the file, and payment by call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    #[serde(default)]
    pub keys: Vec<KeyConfig>,
    /// Units of a route that names no cost of its own.
    pub default_cost: u64,
    pub x402: X402,
}

/// One API key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// Names the key in logs and usage; the key itself is never shown.
    pub name: String,
    pub key: Secret,
    pub scopes: Vec<Scope>,
    /// Units this key may spend; unmetered where absent.
    pub units: Option<u64>,
}

/// What a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    Read,
    Submit,
    Admin,
}
