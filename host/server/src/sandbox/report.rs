//! Reports from the generator's.

use std::sync::Arc;

use super::{Asked, Sandbox, now};
use crate::scoring::{ChainReport, Contents, HeldToken, ProtocolTotal, Report, ReportedPool, ScoringError, sum};
use assay_chain::config::ReadOn;
use assay_domain::{Address, ChainId, Nft, UnreadByChain, parse_address, time_from_unix};
use assay_registry::{MockNft, MockPool, MockPosition, MockReport, MockToken};

impl Sandbox {
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn report(&self, asked: Asked) -> Result<Report, ScoringError> {
        let mut mock = self.generator()?.report(&asked.address)?;
        let unread = asked.condition.change(&mut mock);
        let scored = Arc::new(self.scored_as(asked, self.on_scale(mock.score)?, Vec::new())?);
        Ok(Report { scored, contents: contents(asked.address, mock, unread), inactive: false, cached: false })
    }

    /// The part of the report that concerns one chain.
    ///
    /// # Errors
    /// As [`Sandbox::score`], and [`ScoringError::ChainDown`] for a chain that the condition makes unreadable.
    pub fn chain_report(&self, asked: Asked, chain: ChainId) -> Result<ChainReport, ScoringError> {
        asked.condition.require(chain)?;
        let mut mock = self.generator()?.report(&asked.address)?;
        let mut unread = asked.condition.change(&mut mock);
        unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        let transactions = mock.transactions().find(|(active, _)| *active == chain).map(|(_, count)| count);
        mock.tokens.retain(|token| token.chain_id == chain);
        mock.nfts.retain(|nft| nft.chain_id == chain);
        mock.positions.retain(|position| position.chain_id == chain);
        let whole = contents(asked.address, mock, unread);
        let first_transaction = whole.first_transaction.filter(|_| transactions.is_some());
        let contents = Contents { first_transaction, transactions: transactions.unwrap_or(0), ..whole };
        Ok(ChainReport { contents, cached: false, fresh: now() })
    }
}

/// What a mock report shows of `address`.
fn contents(address: Address, mock: MockReport, unread: Option<UnreadByChain>) -> Contents {
    let mut read_on: ReadOn = mock.active_chains.iter().map(|chain| (*chain, Default::default())).collect();
    for pool in &mock.pools {
        read_on.entry(pool.chain_id).or_default().insert(pool.protocol.clone());
    }
    let held = mock.tokens.iter().map(|token| token.value_usd);
    Contents {
        address,
        as_of: chrono::Utc::now(),
        // As in production: deposits are part of the assets, and no tokens.
        assets_usd: sum(held.chain(mock.positions.iter().map(|position| position.supplied))),
        tokens: mock.tokens.into_iter().map(HeldToken::from).collect(),
        nfts: mock.nfts.into_iter().map(nft).collect(),
        protocols: mock.positions.into_iter().map(ProtocolTotal::from).collect(),
        first_transaction: Some(time_from_unix(mock.first_transaction)),
        transactions: mock.total_transactions,
        active_chains: mock.active_chains,
        pools: mock.pools.into_iter().map(ReportedPool::from).collect(),
        details: None,
        remarks: Vec::new(),
        read_on,
        unread,
    }
}

fn nft(MockNft { name, collection, chain_id }: MockNft) -> Nft {
    Nft { chain_id, name, collection }
}

impl From<MockToken> for HeldToken {
    fn from(MockToken { symbol, name, balance, value_usd, chain_id }: MockToken) -> Self {
        Self { chain_id, contract: None, symbol, name, balance, value_usd, is_priced: None }
    }
}

impl From<MockPosition> for ProtocolTotal {
    fn from(MockPosition { name, supplied, borrowed, chain_id }: MockPosition) -> Self {
        Self { chain_id, name, supplied_usd: supplied, borrowed_usd: borrowed }
    }
}

impl From<MockPool> for ReportedPool {
    fn from(pool: MockPool) -> Self {
        Self {
            chain_id: pool.chain_id,
            protocol: pool.protocol,
            // The registry accepts no other text.
            market_address: parse_address(&pool.market_address).unwrap_or_default(),
            market: pool.market,
            feeds_score: pool.feeds_score,
            coverage: pool.coverage,
            synced_to_block: pool.synced_to_block,
            counts: pool.counts,
            first_event_at: pool.first_event.map(time_from_unix),
            last_event_at: pool.last_event.map(time_from_unix),
        }
    }
}
