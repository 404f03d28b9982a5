//! The holdings of an address in dollars, by chain and in total.

use serde::Serialize;
use utoipa::ToSchema;

use assay_domain::{Address, ChainId};
use assay_http::values::{Checksummed, Moment, Usd};

/// The holdings of an address by chain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Portfolio)]
pub struct PortfolioBody {
    #[schema(value_type = String)]
    pub address: Checksummed,
    #[schema(value_type = String, format = DateTime)]
    pub timestamp: Moment,
    /// The total of the chains in the list.
    #[schema(value_type = f64)]
    pub total_asset_usd: Usd,
    /// The chains that could be read. An absent chain was not read, so its holdings are unknown.
    pub chains: Vec<ChainValueBody>,
    /// Unread and partly read parts, in words: `balances on chain 1: …`. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub unread: Option<Vec<String>>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ChainValue)]
pub struct ChainValueBody {
    #[schema(value_type = u64)]
    pub chain_id: ChainId,
    pub chain_name: String,
    #[schema(value_type = f64)]
    pub total_asset_usd: Usd,
}

/// The total holdings of an address.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Total)]
pub struct TotalBody {
    #[schema(value_type = String)]
    address: Checksummed,
    #[schema(value_type = String, format = DateTime)]
    timestamp: Moment,
    /// The total of the chains that could be read.
    #[schema(value_type = f64)]
    total_asset_usd: Usd,
    /// Unread and partly read parts, in words: `balances on chain 1: …`. Absent in the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unread: Option<Vec<String>>,
}

impl PortfolioBody {
    pub fn of(address: Address, timestamp: Moment, chains: Vec<ChainValueBody>, unread: Option<Vec<String>>) -> Self {
        let total_asset_usd = chains.iter().map(|chain| chain.total_asset_usd).sum();
        Self { address: Checksummed(address), timestamp, total_asset_usd, chains, unread }
    }
}

impl TotalBody {
    pub fn of(
        address: Address,
        timestamp: Moment,
        chains: impl Iterator<Item = f64>,
        unread: Option<Vec<String>>,
    ) -> Self {
        Self { address: Checksummed(address), timestamp, total_asset_usd: chains.map(Usd).sum(), unread }
    }
}
