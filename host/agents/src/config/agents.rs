//! `[agents]`: the ERC-8004 registries.

use std::time::Duration;

use assay_domain::{
    Address, ChainId, address,
    settings::{self, Problems},
};
use serde::Deserialize;

/// The identity registry at its well-known address on Base, and a block before its first event (2026-02-03).
const BASE: (ChainId, Address, u64) = (8453, address!("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"), 41_600_000);

/// The registries, and how often the search index reads them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    pub chain: ChainId,
    pub identity_registry: Address,
    pub reputation_registry: Address,
    /// A block before the identity registry's first event.
    pub from_block: Option<u64>,
    /// Time between two refreshes of the search index.
    #[serde(rename = "refresh_ms", default = "half_an_hour", deserialize_with = "settings::millis")]
    pub refresh: Duration,
}

impl Agents {
    /// The first block that is searched for events.
    pub fn start(&self) -> u64 {
        let (chain, registry, block) = BASE;
        let known = if (self.chain, self.identity_registry) == (chain, registry) { block } else { 0 };
        self.from_block.unwrap_or(known)
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let bounds = 1..=1_800_000;
        let what = "must be 1 to 1800000; the index is refreshed every 30 minutes at least";
        found.add_if(!bounds.contains(&self.refresh.as_millis()), "refresh_ms", what);
        let zero = "the zero address; name the contract";
        found.add_if(self.identity_registry.is_zero(), "identity_registry", zero);
        found.add_if(self.reputation_registry.is_zero(), "reputation_registry", zero);
        let same = self.identity_registry == self.reputation_registry;
        found.add_if(same, "reputation_registry", "the same as agents.identity_registry");
        found
    }
}

fn half_an_hour() -> Duration {
    Duration::from_secs(1_800)
}
