//! What is known of a wallet's lending history while and after it is read.

use super::{Market, records::Settled, tally::Tally};
use crate::{
    config::MarketConfig,
    domain::{ChainId, Coverage, EventCounts, PoolHistory},
};

/// One entry per market of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Ledger {
    pub entries: Vec<Entry>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    /// Of blocks that are settled.
    pub settled: Tally,
    /// Of later blocks, which every read takes anew.
    pub tail: Tally,
    /// Complete through this block; `None` before any was read.
    pub through: Option<u64>,
    /// An earlier read was completed: this is not the first.
    pub read_before: bool,
    /// Block that the next read of settled history begins with.
    pub next: u64,
}

/// How a read of the history stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Through the head.
    Done,
    /// Going on.
    Running,
    /// Given up at a span that could not be read.
    Stopped,
}

impl Ledger {
    pub(super) fn new(markets: &[Market], settled: &[Option<Settled>]) -> Self {
        let entry = |(market, settled): (&Market, &Option<Settled>)| {
            let none = Tally::of(market.lender.no_events());
            Entry {
                settled: settled.map_or(none, |s| s.tally),
                tail: none,
                through: settled.map(|s| s.through),
                read_before: settled.is_some(),
                next: settled.map_or(market.config.from_block, |s| s.through.saturating_add(1)),
            }
        };
        Self { entries: markets.iter().zip(settled).map(entry).collect() }
    }

    /// The contract's view.
    pub(super) fn pools(&self, chain: ChainId, markets: &[Market], progress: Progress) -> Vec<PoolHistory> {
        markets.iter().zip(&self.entries).map(|(market, entry)| entry.pool(chain, market, progress)).collect()
    }
}

impl Entry {
    fn pool(&self, chain: ChainId, market: &Market, progress: Progress) -> PoolHistory {
        let coverage = match (progress, self.through) {
            (Progress::Done, _) => Coverage::Complete,
            (Progress::Running, _) if !self.read_before => Coverage::Pending,
            (Progress::Stopped, None) => return failed_pool(chain, &market.config),
            (Progress::Running | Progress::Stopped, _) => Coverage::Partial,
        };
        let all = self.settled.plus(self.tail);
        PoolHistory {
            coverage,
            synced_to_block: self.through,
            counts: all.counts,
            first_event_at: all.first,
            last_event_at: all.last,
            last_liquidation_at: all.last_liquidation,
            ..failed_pool(chain, &market.config)
        }
    }
}

/// The entry of a configured market that could not be read, whether there is a reader for it or not.
pub(in crate::chain) fn failed_pool(chain: ChainId, market: &MarketConfig) -> PoolHistory {
    PoolHistory {
        chain_id: chain,
        protocol: market.protocol,
        market_address: market.address,
        market: market.market.clone(),
        feeds_score: market.protocol.feeds_score(),
        coverage: Coverage::Failed,
        synced_to_block: None,
        counts: EventCounts::default(),
        first_event_at: None,
        last_event_at: None,
        last_liquidation_at: None,
    }
}
