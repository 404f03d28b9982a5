//! `[[chains.markets]]`: the lending markets of a chain.

use assay_domain::{Address, Protocol};
use serde::Deserialize;

/// One lending market. For `lenderB_v2` a market is one cToken.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarketConfig {
    pub protocol: Protocol,
    /// `None` where the protocol has one market on the chain.
    pub market: Option<String>,
    pub address: Address,
    /// First block that can contain an event of this market.
    pub from_block: u64,
}
