//! `[[chains.markets]]`: the lending markets of a chain.

use assay_domain::{Address, Protocol};
use serde::Deserialize;

/// One lending market. For `lenderB_v2` a market is one cToken, and for `morpho_blue` the contract with all its
/// markets.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketConfig {
    pub protocol: Protocol,
    /// `None` where the protocol has one market on the chain.
    pub market: Option<String>,
    pub address: Address,
    /// First block that can contain an event of this market.
    pub from_block: u64,
    /// Whether it counts in the score; absent for what its protocol says.
    #[serde(default)]
    pub feeds_score: Option<bool>,
}

impl MarketConfig {
    pub fn feeds_score(&self) -> bool {
        self.feeds_score.unwrap_or(self.protocol.feeds_score())
    }
}
