//! `[access]`: who may call what, and what it costs.

use serde::Deserialize;

use super::X402;
use assay_domain::{Scope, Secret};

/// Keys from the file, and payment by call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    #[serde(default)]
    pub keys: Vec<KeyConfig>,
    /// Units of a route that names no cost of its own.
    pub default_cost: u64,
    /// Requests a minute of a key that names no rate of its own; 0: without bound.
    pub default_rate: u32,
    /// Requests a minute from one address without a valid key; 0: without bound. IPv6 addresses count by their /64.
    pub address_rate: u32,
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
    /// Requests this key may make a minute; `access.default_rate` where absent, 0: without bound.
    pub rate: Option<u32>,
}
