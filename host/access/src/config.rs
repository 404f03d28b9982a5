//! `[access]`: API keys, the cost of routes, and request rates.

use std::collections::BTreeSet;

use assay_domain::{Scope, Secret, settings::Problems};
use serde::Deserialize;

/// Keys of the configuration file, default cost and rates. `Payments` is the table of payment by call, which this crate
/// only carries.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access<Payments> {
    #[serde(default)]
    pub keys: Vec<KeyConfig>,
    /// Cost in units of a score or a report.
    pub default_cost: u64,
    /// Cost in units of a watch for 30 days.
    pub watch_cost: u64,
    /// Requests a minute of a key without its own `rate`; 0 for no limit.
    pub default_rate: u32,
    /// Requests a minute from one address without a valid key; 0 for no limit. IPv6 addresses count by their /64.
    pub address_rate: u32,
    /// Requests a minute of all callers without a key together, to the routes that payments open; those with a payment
    /// have the same rate apart. 0 for no limit.
    pub guest_rate: u32,
    pub x402: Payments,
}

impl<Payments> Access<Payments> {
    /// Those of `x402` apart.
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let (mut names, mut keys) = (BTreeSet::new(), BTreeSet::new());
        for (i, key) in self.keys.iter().enumerate() {
            let at = |field: &str| format!("keys[{i}].{field}");
            let text = key.key.expose();
            if let Err(error) = crate::mint::check_name(&key.name) {
                found.add(at("name"), error.to_string());
            }
            found.add_if(!names.insert(&key.name), at("name"), "another key has this name; usage is kept by name");
            found.add_if(!keys.insert(text), at("key"), "another entry has the same key");
            let short = "shorter than 8 characters; `assay key mint` makes a good one";
            found.add_if(text.len() < 8, at("key"), short);
            let no_scope = "empty; name at least one of read, submit, admin";
            found.add_if(key.scopes.is_empty(), at("scopes"), no_scope);
        }
        found
    }
}

/// One API key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// Name of the key in logs and usage. Nothing shows the key itself.
    pub name: String,
    pub key: Secret,
    pub scopes: Vec<Scope>,
    /// Units that this key may spend; no limit if absent.
    pub units: Option<u64>,
    /// Requests a minute of this key; `access.default_rate` if absent, 0 for no limit.
    pub rate: Option<u32>,
}
