//! `[names]`: the registries that resolve names to addresses.

use std::time::Duration;

use alloy::ens::UNIVERSAL_RESOLVER_ADDRESS;
use assay_domain::{
    Address, ChainId, Name,
    settings::{self, Problems},
};
use serde::{Deserialize, Deserializer, de::Error as _};

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
    /// ENS's Universal Resolver, which decides instead of this registry where it has code: an address or `"none"`.
    #[serde(default)]
    pub universal_resolver: UniversalResolver,
    /// This registry resolves names below this one, before other registries, and no other names; all names if absent.
    pub under: Option<String>,
    /// The name below which reverse records are, such as `addr.reverse`.
    pub reverse: String,
}

/// The value of `universal_resolver`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum UniversalResolver {
    /// The key is absent.
    #[default]
    Standard,
    At(Address),
    None,
}

impl<'de> Deserialize<'de> for UniversalResolver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "none" {
            return Ok(Self::None);
        }
        let address = text.parse();
        address.map(Self::At).map_err(|_| D::Error::custom(format!("{text:?} is neither an address nor \"none\"")))
    }
}

impl RegistryConfig {
    /// The address of the Universal Resolver. By default that is ENS's own, which is the same on all its chains, for a
    /// registry of all names.
    pub fn universal(&self) -> Option<Address> {
        match self.universal_resolver {
            UniversalResolver::At(address) => Some(address),
            UniversalResolver::Standard if self.under.is_none() => Some(UNIVERSAL_RESOLVER_ADDRESS),
            UniversalResolver::Standard | UniversalResolver::None => None,
        }
    }

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
