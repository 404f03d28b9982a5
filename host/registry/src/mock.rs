//! Checked answers of a sandbox model. Units: dollars, Unix seconds, EIP-155 chain ids.

use assay_domain::{ChainId, Score};

/// A mock credit report.
#[derive(Debug, Clone, PartialEq)]
pub struct MockReport {
    /// The mock score of the address.
    pub score: Score,
    pub tokens: Vec<MockToken>,
    pub nfts: Vec<MockNft>,
    pub positions: Vec<MockPosition>,
    pub pools: Vec<MockPool>,
    pub first_transaction: u64,
    pub total_transactions: u64,
    pub active_chains: Vec<ChainId>,
}

impl MockReport {
    /// The transactions on each active chain: equal shares, with the remainder on the first chain.
    pub fn transactions(&self) -> impl Iterator<Item = (ChainId, u64)> {
        let chains = self.active_chains.len().max(1) as u64;
        let (share, rest) = (self.total_transactions / chains, self.total_transactions % chains);
        self.active_chains
            .iter()
            .enumerate()
            .map(move |(index, chain)| (*chain, if index == 0 { share + rest } else { share }))
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct MockToken {
    pub symbol: String,
    pub name: String,
    /// Decimal text in whole tokens.
    pub balance: String,
    pub value_usd: f64,
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockNft {
    pub name: String,
    pub collection: String,
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MockPosition {
    pub name: String,
    pub supplied: f64,
    pub borrowed: f64,
    pub chain_id: ChainId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MockPool {
    pub protocol: String,
    pub market_address: String,
    pub market: Option<String>,
    pub chain_id: ChainId,
    pub synced_to_block: u64,
    pub supply: u64,
    pub withdraw: u64,
    pub borrow: u64,
    pub repay: u64,
    pub liquidation: u64,
    pub first_event: Option<u64>,
    pub last_event: Option<u64>,
}

/// The value of an address on one chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainValue {
    pub chain_id: ChainId,
    pub total_asset_usd: f64,
}
