//! What the condition of a scenario changes in a report, and how much of it was read, in the types and words of
//! production.

use chrono::Days;

use super::condition::{Condition, Reading};
use assay_domain::{ChainId, Coverage, EventCounts, Protocol, Time, Unread, UnreadByChain, parse_address};
use assay_registry::{MockPool, MockReport};
use assay_score::ScoringError;

impl Condition {
    /// The coverage that a score shows.
    pub(crate) fn coverage(&self, mut report: MockReport) -> Coverage {
        let unread = self.change(&mut report).unwrap_or_default();
        let of_pools = Coverage::least(report.pools.iter().map(|pool| pool.coverage));
        let of_the_rest = match self.reading {
            // The report of a generator may have no pools.
            Reading::Pending => Coverage::Pending,
            _ if unread.iter().any(|(_, unread)| unread.part.is_scored()) => Coverage::Partial,
            _ => Coverage::Complete,
        };
        of_pools.min(of_the_rest)
    }

    /// # Errors
    /// `ScoringError::ChainDown` for the chain that cannot be read.
    pub(crate) fn require(&self, chain: ChainId) -> Result<(), ScoringError> {
        if self.unread_chain() == Some(chain) { Err(ScoringError::ChainDown(chain)) } else { Ok(()) }
    }

    /// The chain that cannot be read.
    pub(crate) fn unread_chain(&self) -> Option<ChainId> {
        if let Reading::ChainUnread(chain) = self.reading { Some(chain) } else { None }
    }

    /// Changes a plain report into that of the condition, and returns what was not read; `None` for a plain condition.
    pub(crate) fn change(&self, report: &mut MockReport) -> Option<UnreadByChain> {
        if !self.changes_report() {
            return None;
        }
        let mut unread = UnreadByChain::new();
        match self.reading {
            Reading::Complete => {}
            Reading::Pending => report.pools.iter_mut().for_each(pending),
            Reading::Partial => first(report).into_iter().for_each(|pool| pool.coverage = Coverage::Partial),
            Reading::FailedPool => first(report).into_iter().for_each(failed),
            Reading::Provisional => {
                unread.extend(report.active_chains.first().map(|chain| (*chain, Unread::price(None))));
            }
            Reading::ChainUnread(chain) => {
                without(report, chain);
                unread.push((chain, Unread::chain()));
            }
            Reading::LiquidatedYesterday => {
                first(report).into_iter().for_each(|pool| liquidated(pool, chrono::Utc::now()));
            }
            Reading::Inactive => inactive(report),
        }
        unread.extend(report.pools.iter().filter_map(|pool| Some((pool.chain_id, missing(pool)?))));
        Some(unread)
    }
}

/// The pool that a condition changes: the first with loans, or else the first.
fn first(report: &mut MockReport) -> Option<&mut MockPool> {
    let lent = report.pools.iter().position(|pool| pool.counts.borrow > Some(0)).unwrap_or(0);
    report.pools.get_mut(lent)
}

/// The pool while it is read for the first time: nothing is known yet.
fn pending(pool: &mut MockPool) {
    pool.coverage = Coverage::Pending;
    pool.synced_to_block = None;
    unused(pool);
}

/// The report of a wallet that has never been used: each pool was read, and has no events.
fn inactive(report: &mut MockReport) {
    report.tokens.clear();
    report.nfts.clear();
    report.positions.clear();
    report.active_chains.clear();
    report.total_transactions = 0;
    report.pools.iter_mut().for_each(unused);
}

/// The pool without events.
fn unused(pool: &mut MockPool) {
    let collected = |count: Option<u64>| count.map(|_| 0);
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
    pool.counts = EventCounts {
        supply: collected(supply),
        withdraw: collected(withdraw),
        borrow: collected(borrow),
        repay: collected(repay),
        liquidation: collected(liquidation),
    };
    (pool.first_event, pool.last_event) = (None, None);
}

fn failed(pool: &mut MockPool) {
    pool.coverage = Coverage::Failed;
    pool.synced_to_block = None;
    pool.counts = EventCounts::default();
    (pool.first_event, pool.last_event) = (None, None);
}

/// Removes everything on the chain. Its pools stay, without counts.
fn without(report: &mut MockReport, chain: ChainId) {
    report.tokens.retain(|token| token.chain_id != chain);
    report.nfts.retain(|nft| nft.chain_id != chain);
    report.positions.retain(|position| position.chain_id != chain);
    let share = report.transactions().find(|(active, _)| *active == chain).map_or(0, |(_, share)| share);
    report.total_transactions = report.total_transactions.saturating_sub(share);
    report.active_chains.retain(|active| *active != chain);
    report.pools.iter_mut().filter(|pool| pool.chain_id == chain).for_each(failed);
}

fn liquidated(pool: &mut MockPool, now: Time) {
    let yesterday = now.checked_sub_days(Days::new(1)).unwrap_or(now);
    pool.counts.liquidation = pool.counts.liquidation.map(|count| count.saturating_add(1));
    let at = u64::try_from(yesterday.timestamp()).ok();
    (pool.first_event, pool.last_event) = (pool.first_event.or(at), at);
}

/// The unread part of a pool, in the words of production. `None` if all is read, and for an unknown protocol.
fn missing(pool: &MockPool) -> Option<Unread> {
    let protocol = Protocol::ALL.into_iter().find(|protocol| protocol.as_str() == pool.protocol)?;
    Unread::history(protocol, parse_address(&pool.market_address).ok()?, pool.coverage, pool.synced_to_block)
}
