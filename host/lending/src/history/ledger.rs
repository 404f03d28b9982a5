//! The counts and sums of a wallet's lending history, during a read and after it.

use alloy::primitives::I256;

use crate::{
    config::MarketConfig,
    figures::{
        hints::{AllHints, Hint},
        record::{Side, StatePosition, Unexplained},
        sums::Sums,
    },
    history::{events::AllBefore, past::Past, settled::SettledHistory, tally::EventTally},
    market::Market,
};
use assay_domain::{Address, ChainId, Coverage, EventCounts, PoolEvents, PoolHistory, features::PositionFeatures};

/// The history of one wallet in one market.
#[derive(Debug)]
pub struct MarketHistory {
    pub pool: PoolHistory,
    /// The sums of the amounts; `None` if unknown.
    pub sums: Option<Sums>,
    /// Single events; `None` if the history's record is older than single events in records.
    pub past: Option<Past>,
    /// The market's hints for the wallet; empty if they are not known yet.
    pub hints: Vec<Hint>,
    /// What happened to positions whose logs name no wallet; `None` if that is not known.
    pub(crate) numbered: Option<EventTally>,
    /// Whether a second source was asked, for all blocks, which parts of the position the wallet used.
    pub(crate) is_confirmed: bool,
}

impl MarketHistory {
    pub fn unread(pool: PoolHistory) -> Self {
        Self { pool, sums: None, past: None, hints: Vec::new(), numbered: None, is_confirmed: false }
    }

    /// The complete history of everyone in a market that did not exist yet.
    pub(crate) fn none(pool: PoolHistory, market: &Market) -> Self {
        let counts = market.protocol.profile().no_events;
        let pool = PoolHistory { coverage: Coverage::Complete, counts, ..pool };
        Self { sums: Some(Sums::default()), past: Some(Past::default()), ..Self::unread(pool) }
    }

    /// The sums of the amounts, if the history is complete.
    pub(crate) fn whole(&self) -> Option<&Sums> {
        self.sums.as_ref().filter(|_| self.pool.coverage == Coverage::Complete)
    }
}

/// One entry per market of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Ledger {
    pub entries: Vec<MarketLedger>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MarketLedger {
    /// Counts of settled blocks.
    pub settled: EventTally,
    /// `None` if the amounts in settled blocks are unknown.
    pub settled_sums: Option<Sums>,
    /// Counts of later blocks, which every read reads again.
    pub tail: EventTally,
    pub tail_sums: Sums,
    /// Single events in the same blocks; `None` if those in settled blocks are unknown.
    pub settled_past: Option<Past>,
    pub tail_past: Past,
    /// Complete through this block; `None` before any was read.
    pub through: Option<u64>,
    /// Whether there is a record of an earlier read.
    pub read_before: bool,
    /// The block at which the next read of settled history begins.
    pub next: u64,
    /// Whether the market is not read, because its hints are unknown now.
    pub left_out: bool,
    /// The position in old state, if the history is followed by it.
    pub followed: Option<Followed>,
    pub unexplained: Option<Unexplained>,
    /// The block through which a second source was asked which parts the wallet used.
    pub confirmed: Option<u64>,
}

/// The position in old state, for a protocol in which it can change without a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Followed {
    /// In the settled blocks that were compared.
    pub settled: StatePosition,
    /// In all blocks that were compared.
    pub latest: StatePosition,
}

/// How far a read of the history has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadProgress {
    /// Through the head.
    Done,
    /// Not yet at the head.
    Running,
    /// Ended at a span that could not be read, for this reason.
    Stopped(String),
}

impl Ledger {
    pub(crate) fn new(markets: &[Market], settled: &[Option<SettledHistory>]) -> Self {
        let entry = |(market, settled): (&Market, &Option<SettledHistory>)| {
            let none = EventTally::of(market.protocol.profile().no_events);
            MarketLedger {
                settled: settled.as_ref().map_or(none, |s| s.tally),
                settled_sums: settled.as_ref().map_or_else(|| Some(Sums::default()), |s| s.sums.clone()),
                tail: none,
                tail_sums: Sums::default(),
                settled_past: settled.as_ref().map_or_else(|| Some(Past::default()), |s| s.past.clone()),
                tail_past: Past::default(),
                through: settled.as_ref().map(|s| s.through),
                read_before: settled.is_some(),
                next: settled.as_ref().map_or(market.config.from_block, |s| s.through.saturating_add(1)),
                left_out: false,
                followed: settled.as_ref().and_then(|s| s.shown).map(|at| Followed { settled: at, latest: at }),
                unexplained: settled.as_ref().and_then(|s| s.unexplained),
                confirmed: settled.as_ref().and_then(|s| s.confirmed),
            }
        };
        Self { entries: markets.iter().zip(settled).map(entry).collect() }
    }

    /// Leaves out the markets without an entry in `hints`, and the sums of markets whose logs do not show all moves.
    #[must_use]
    pub(crate) fn planned(mut self, markets: &[Market], hints: &AllHints) -> Self {
        for ((entry, market), hints) in self.entries.iter_mut().zip(markets).zip(hints.iter()) {
            match hints {
                None => (entry.left_out, entry.next) = (true, u64::MAX),
                Some(hints) if !market.protocol.adds_up(hints) => entry.settled_sums = None,
                Some(_) => {}
            }
        }
        self
    }

    /// Follows, by old state, the markets that are read from their beginning and can change without a log.
    #[must_use]
    pub(crate) fn following(mut self, markets: &[Market]) -> Self {
        for (entry, market) in self.entries.iter_mut().zip(markets) {
            if !entry.read_before && market.protocol.partial_logs().is_some() {
                let before =
                    StatePosition { block: market.config.from_block.saturating_sub(1), ..StatePosition::default() };
                entry.followed = Some(Followed { settled: before, latest: before });
            }
        }
        self
    }

    /// The block at which a read of all markets together begins.
    pub(crate) fn start(&self) -> u64 {
        self.entries.iter().map(|entry| entry.next).min().unwrap_or(0)
    }

    /// The first block for which no second source was asked which parts the wallet used, in the markets whose parts
    /// only logs name.
    pub(crate) fn unconfirmed_from(&self, markets: &[Market]) -> Option<u64> {
        let named = markets.iter().zip(&self.entries).filter(|(market, _)| market.protocol.profile().names_its_parts);
        let read = named.filter(|(_, entry)| !entry.left_out);
        read.map(|(market, entry)| entry.confirmed.map_or(market.config.from_block, |to| to.saturating_add(1))).min()
    }

    /// The histories of all markets, without their hints.
    pub(crate) fn histories(&self, chain: ChainId, markets: &[Market], progress: &ReadProgress) -> Vec<MarketHistory> {
        markets.iter().zip(&self.entries).map(|(market, entry)| entry.history(chain, market, progress)).collect()
    }

    /// The amounts before the next logs; empty if no market's logs depend on them.
    pub(crate) fn before(&self, markets: &[Market]) -> AllBefore {
        if !markets.iter().any(|market| market.protocol.aliases().is_some()) {
            return AllBefore::new();
        }
        let of =
            |entry: &MarketLedger| (entry.next, entry.settled_sums.clone().unwrap_or_default().then(&entry.tail_sums));
        self.entries.iter().map(of).collect()
    }
}

impl MarketLedger {
    /// The sum of the base amounts that were read.
    pub(crate) fn base(&self) -> I256 {
        let net = |sums: &Sums| sums.of(Side::Base, Address::ZERO).net;
        self.settled_sums.as_ref().map(net).unwrap_or_default().saturating_add(net(&self.tail_sums))
    }

    fn history(&self, chain: ChainId, market: &Market, progress: &ReadProgress) -> MarketHistory {
        let principal = self.followed.map(|followed| followed.latest.principal);
        let sums = self.settled_sums.clone().map(|sums| sums.then(&self.tail_sums).with_principal(principal));
        let past = self.settled_past.clone().map(|past| past.then(&self.tail_past));
        let is_confirmed = self.through.is_some_and(|through| self.confirmed.is_some_and(|to| to >= through));
        MarketHistory { sums, past, is_confirmed, ..MarketHistory::unread(self.pool(chain, market, progress)) }
    }

    fn pool(&self, chain: ChainId, market: &Market, progress: &ReadProgress) -> PoolHistory {
        let left_out = ReadProgress::Stopped("its parts could not be read; try again later".to_owned());
        let progress = if self.left_out { &left_out } else { progress };
        let stopped = if let ReadProgress::Stopped(reason) = progress { Some(reason.clone()) } else { None };
        let all = self.settled.plus(self.tail);
        let mut remark = self.unexplained.map(Unexplained::as_str);
        let coverage = match (progress, self.through) {
            (ReadProgress::Done, _) if market.protocol.profile().lacks_a_borrowing(&all.counts) => {
                remark = Some("a debt was repaid, and its borrowing is not found");
                let market = market.config.address;
                tracing::warn!(chain, %market, "a debt was repaid without a borrowing in the history; the history \
                                                counts as partial");
                Coverage::Partial
            }
            // A read up to the head did not reach the first block, so the history there is not known to be empty.
            (ReadProgress::Done, None) => {
                let (from_block, market) = (market.config.from_block, market.config.address);
                remark = Some("the chain has not reached from_block, so nothing was read; correct chains.markets");
                tracing::warn!(chain, %market, from_block, "the chain has not reached from_block of this market; \
                                                            correct chains.markets");
                Coverage::Partial
            }
            (ReadProgress::Done, Some(_)) => Coverage::Complete,
            (ReadProgress::Running, _) if !self.read_before => Coverage::Pending,
            (ReadProgress::Stopped(_), None) => return PoolHistory { stopped, ..failed_pool(chain, &market.config) },
            (ReadProgress::Running | ReadProgress::Stopped(_), _) => Coverage::Partial,
        };
        PoolHistory {
            coverage,
            synced_to_block: self.through,
            counts: all.counts,
            first_event_at: all.first,
            last_event_at: all.last,
            last_liquidation_at: all.last_liquidation,
            stopped,
            remark: remark.map(str::to_owned),
            ..failed_pool(chain, &market.config)
        }
    }
}

/// The entry of a configured market that could not be read.
pub fn failed_pool(chain: ChainId, market: &MarketConfig) -> PoolHistory {
    PoolHistory {
        chain_id: chain,
        protocol: market.protocol,
        market_address: market.address,
        market: market.market.clone(),
        feeds_score: market.feeds_score(),
        coverage: Coverage::Failed,
        synced_to_block: None,
        counts: EventCounts::default(),
        first_event_at: None,
        last_event_at: None,
        last_liquidation_at: None,
        stopped: None,
        remark: None,
        events: PoolEvents::UNREAD,
        position: market.protocol.has_details().then_some(PositionFeatures::UNREAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocols::EventKind;
    use assay_domain::{B256, Protocol};

    fn pool(settled: Option<u64>, through: Option<u64>, progress: &ReadProgress) -> PoolHistory {
        let config = MarketConfig {
            protocol: Protocol::LenderAV3,
            market: None,
            address: Address::ZERO,
            from_block: 10,
            feeds_score: None,
            dialect: None,
            chainlog: None,
            lending_factory: None,
            evc: None,
        };
        let markets = [Market::new(config)];
        let mut tally = EventTally::of(EventCounts::ZERO);
        tally.add(EventKind::Repay, Some(5));
        let hash = B256::ZERO;
        let settled = settled.map(|through| SettledHistory {
            tally,
            sums: None,
            past: None,
            through,
            hash,
            shown: None,
            unexplained: None,
            confirmed: None,
            of_accounts: false,
        });
        let mut ledger = Ledger::new(&markets, std::slice::from_ref(&settled));
        assert_eq!(ledger.entries[0].next, settled.map_or(10, |s| s.through + 1));
        ledger.entries[0].through = ledger.entries[0].through.max(through);
        ledger.entries[0].tail.add(EventKind::Borrow, Some(9));
        ledger.histories(1, &markets, progress).remove(0).pool
    }

    #[test]
    fn coverage_tells_how_far_reading_came() {
        let summary = |pool: PoolHistory| (pool.coverage, pool.synced_to_block, pool.counts.repay);
        assert_eq!(summary(pool(Some(50), Some(99), &ReadProgress::Done)), (Coverage::Complete, Some(99), Some(1)));
        assert_eq!(summary(pool(None, None, &ReadProgress::Running)), (Coverage::Pending, None, Some(0)));
        assert_eq!(summary(pool(None, Some(40), &ReadProgress::Running)), (Coverage::Pending, Some(40), Some(0)));
        assert_eq!(summary(pool(Some(50), None, &ReadProgress::Running)), (Coverage::Partial, Some(50), Some(1)));
        assert_eq!(
            summary(pool(None, Some(40), &ReadProgress::Stopped("no".into()))),
            (Coverage::Partial, Some(40), Some(0))
        );
        assert_eq!(summary(pool(None, None, &ReadProgress::Stopped("no".into()))), (Coverage::Failed, None, None));
        assert_eq!(summary(pool(None, None, &ReadProgress::Done)), (Coverage::Partial, None, Some(0)));
    }

    #[test]
    fn settled_history_and_tail_are_one_history() {
        let pool = pool(Some(50), Some(99), &ReadProgress::Done);
        assert_eq!((pool.counts.repay, pool.counts.borrow), (Some(1), Some(1)));
        assert!(pool.first_event_at < pool.last_event_at);
    }
}
