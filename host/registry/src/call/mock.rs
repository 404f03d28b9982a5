//! Checked answers of a sandbox model. Units: dollars, Unix seconds, EIP-155 chain ids.

use assay_domain::{Address, ChainId, Coverage, EventCounts, PaymentRefusal, Score};

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
    pub coverage: Coverage,
    pub feeds_score: bool,
    pub synced_to_block: Option<u64>,
    pub counts: EventCounts,
    pub first_event: Option<u64>,
    pub last_event: Option<u64>,
}

/// The value of an address on one chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ChainValue {
    pub chain_id: ChainId,
    pub total_asset_usd: f64,
}

/// The subject of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MockSubject {
    Address(Address),
    /// The token id of an agent, at least 1.
    Agent(u64),
}

/// A subject that behaves as production does in one condition, for testers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Unique among the scenarios of a model.
    pub id: String,
    pub title: String,
    pub subject: MockSubject,
    /// The behaviour that a client sees.
    pub description: String,
}

/// The host's behaviour on the production paths, instead of a plain answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Behaviour {
    /// Complete at the n-th request.
    Pending(u32),
    Partial,
    FailedPool,
    Provisional,
    ChainUnread(ChainId),
    LiquidatedYesterday,
    NotFound,
    /// Seconds.
    RateLimited(u32),
    UpstreamFailed,
    Unavailable,
    /// Milliseconds.
    Slow(u32),
    SubmissionFails(Phase),
    PaymentRefused(PaymentRefusal),
}

/// The phases of a submission in which it can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Scoring,
    Uploading,
    Submitting,
}
