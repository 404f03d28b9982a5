//! `[names]`: the registries that resolve names to addresses.

use std::time::Duration;

use assay_domain::{
    Address, ChainId, Name,
    settings::{self, Problems},
};
use serde::Deserialize;

/// Registries, and the lifetimes of cached answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Lifetime of a cached address.
    #[serde(rename = "cache_ms", deserialize_with = "settings::millis")]
    pub cache_ttl: Duration,
    /// Lifetime of the cached answer that a name has no address.
    #[serde(rename = "negative_cache_ms", deserialize_with = "settings::millis")]
    pub negative_cache_ttl: Duration,
    /// Largest number of cached names.
    pub cache_entries: u64,
    /// A registry is read if its chain is configured.
    #[serde(default)]
    pub registries: Vec<RegistryConfig>,
}

impl Names {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.millis("cache_ms", self.cache_ttl, ..=300_000);
        found.millis("negative_cache_ms", self.negative_cache_ttl, ..=60_000);
        for (i, registry) in self.registries.iter().enumerate() {
            let at = format!("registries[{i}]");
            found.section(&at, registry.problems());
            let same = |other: &&RegistryConfig| (other.chain, &other.under) == (registry.chain, &registry.under);
            let twice = self.registries.iter().filter(same).count() > 1;
            found.add_if(twice, at, "another registry of this chain has the same names");
        }
        found
    }
}

/// An ENS registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// Provider of the attestation that an address's name in this registry counts as.
    pub provider: String,
    pub chain: ChainId,
    pub registry: Address,
    /// This registry resolves names below this one, before other registries, and no other names; all names if absent.
    pub under: Option<String>,
    /// The name below which reverse records are, such as `addr.reverse`.
    pub reverse: String,
}

impl RegistryConfig {
    fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let is_normal = |name: &str| Name::parse(name).is_ok_and(|normal| normal.as_str() == name);
        let bad_reverse = !is_normal(&self.reverse);
        found.add_if(bad_reverse, "reverse", "not a name in its normal form, such as addr.reverse");
        let bad_under = self.under.as_deref().is_some_and(|under| !is_normal(under));
        found.add_if(bad_under, "under", "not a name in its normal form, such as base.eth");
        found
    }
}
