//! A report in the form of `wit/v1`, which the released sources draw.

use crate::{Nft, Position, Token};

pub struct Pool {
    pub protocol: String,
    pub market_address: String,
    pub market: Option<String>,
    pub chain_id: u64,
    pub synced_to_block: u64,
    pub supply: u64,
    pub withdraw: u64,
    pub borrow: u64,
    pub repay: u64,
    pub liquidation: u64,
    pub first_event: Option<u64>,
    pub last_event: Option<u64>,
}

pub struct MockReport {
    pub score: u32,
    pub tokens: Vec<Token>,
    pub nfts: Vec<Nft>,
    pub positions: Vec<Position>,
    pub pools: Vec<Pool>,
    pub first_transaction: u64,
    pub total_transactions: u64,
    pub active_chains: Vec<u64>,
}
