//! `[names]`: who knows what names stand for.

use serde::Deserialize;

use assay_domain::{Address, ChainId};

/// Naming services, and how long their answers stand.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// How long the address of a name is kept, in milliseconds; at most five minutes.
    pub cache_ms: u64,
    /// How long it is kept that a name has none, in milliseconds; at most a minute.
    pub negative_cache_ms: u64,
    /// Most names kept in memory.
    pub cache_entries: u64,
    /// Asked where their chain is configured.
    #[serde(default)]
    pub registries: Vec<RegistryConfig>,
}

/// An ENS registry.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryConfig {
    /// What an address's own name here counts as.
    pub provider: String,
    pub chain: ChainId,
    pub registry: Address,
    /// Only names below this one are looked up here, and are looked up here first; any where absent.
    pub under: Option<String>,
    /// The name below which addresses name themselves.
    pub reverse: String,
}
