//! `[agents]`: the ERC-8004 registries.

use serde::Deserialize;

use assay_domain::{Address, ChainId, address};

/// The identity registry at its well-known address on Base, and a block before its first event (2026-02-03).
const BASE: (ChainId, Address, u64) = (8453, address!("0x8004A169FB4a3325136EB29fA0ceB6D2e539a432"), 41_600_000);

/// Where the registries are, and how the view of them is kept current.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    pub chain: ChainId,
    pub identity_registry: Address,
    pub reputation_registry: Address,
    /// A block before the identity registry's first event.
    pub from_block: Option<u64>,
    /// Time between two refreshes of the search index, in milliseconds; at most 30 minutes.
    #[serde(default = "half_an_hour")]
    pub refresh_ms: u64,
}

impl Agents {
    /// The first block that events are looked for in.
    pub fn start(&self) -> u64 {
        let (chain, registry, block) = BASE;
        let known = if (self.chain, self.identity_registry) == (chain, registry) { block } else { 0 };
        self.from_block.unwrap_or(known)
    }
}

fn half_an_hour() -> u64 {
    1_800_000
}
