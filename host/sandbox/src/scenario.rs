//! The scenarios of a sandbox generator on the production paths. They change a plain answer into the answer of
//! production under one condition, in the same types and words.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use chrono::Days;
use moka::future::Cache;

use super::MockRequest;
use assay_domain::{
    Address, ChainId, Coverage, EventCounts, Factor, Protocol, Time, Unread, UnreadByChain, parse_address,
};
use assay_registry::{Behaviour, MockPool, MockReport, ScoreError};
use assay_score::ScoringError;

/// A first reading begins again when nobody has asked about it for this long.
const FORGOTTEN: Duration = Duration::from_secs(60);
/// The largest number of first readings that are remembered.
const REMEMBERED: u64 = 10_000;

/// The factors of the contract that count lending events.
const LENDING: [&str; 2] = ["DeFi Activity", "Repayment History"];
const NOT_READ_YET: &str = "Your lending history is being read for the first time; nothing of it counts yet.";

/// Plays the scenarios. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Scenarios {
    /// The number of requests of each caller about each address.
    asked: Cache<(String, Address), Arc<AtomicU32>>,
}

/// The condition under which a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScenarioCondition(Option<Behaviour>);

impl Default for Scenarios {
    fn default() -> Self {
        Self { asked: Cache::builder().max_capacity(REMEMBERED).time_to_idle(FORGOTTEN).build() }
    }
}

impl Scenarios {
    /// Counts a request by `by`: a first read is complete after some of them.
    pub(crate) async fn enter(&self, asked: MockRequest, by: &str) -> MockRequest {
        let Some(Behaviour::Pending(complete_at)) = asked.condition.0 else { return asked };
        let count = self.asked.get_with((by.to_owned(), asked.address), async { Arc::default() }).await;
        let earlier = count.fetch_add(1, Ordering::Relaxed);
        if earlier.saturating_add(1) < complete_at { asked } else { MockRequest::plainly(asked.address) }
    }
}

impl ScenarioCondition {
    pub const PLAIN: Self = Self(None);

    /// The condition of a subject with this behaviour.
    ///
    /// # Errors
    /// The error of production, for a behaviour that refuses the request.
    pub fn of(behaviour: Option<Behaviour>) -> Result<Self, ScoringError> {
        match behaviour {
            Some(Behaviour::NotFound) => Err(ScoringError::NotFound),
            Some(Behaviour::RateLimited(seconds)) => Err(ScoringError::Limited(seconds)),
            Some(Behaviour::UpstreamFailed) => Err(ScoringError::ChainsDown),
            Some(Behaviour::Unavailable) => Err(ScoreError::Busy { instances: 0 }.into()),
            other => Ok(Self(other)),
        }
    }

    /// Waits as long as a slow answer takes.
    pub async fn passed(self) -> Self {
        let Some(Behaviour::Slow(millis)) = self.0 else { return self };
        tokio::time::sleep(Duration::from_millis(millis.into())).await;
        Self(None)
    }

    /// Whether the answer is plain, as for a subject without a scenario.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self.0, None | Some(Behaviour::Slow(_)))
    }

    /// The coverage that a score shows.
    pub fn coverage(self, mut report: MockReport) -> Coverage {
        let unread = self.change(&mut report).unwrap_or_default();
        let of_pools = Coverage::least(report.pools.iter().map(|pool| pool.coverage));
        let of_the_rest = match self.0 {
            // The report of a generator may have no pools.
            Some(Behaviour::Pending(_)) => Coverage::Pending,
            _ if unread.iter().any(|(_, unread)| unread.part.is_scored()) => Coverage::Partial,
            _ => Coverage::Complete,
        };
        of_pools.min(of_the_rest)
    }

    /// Changes the factors of a plain score. While a wallet is read for the first time, its lending factors count no
    /// events, as its report does not either.
    pub fn factors(self, mut factors: Vec<Factor>) -> Vec<Factor> {
        if let Some(Behaviour::Pending(_)) = self.0 {
            let lending = factors.iter_mut().filter(|factor| LENDING.contains(&factor.label.as_str()));
            for words in lending.filter_map(|factor| factor.words.as_mut()) {
                NOT_READ_YET.clone_into(&mut words.description);
            }
        }
        factors
    }

    /// # Errors
    /// `ScoringError::ChainDown` for the chain that cannot be read.
    pub fn require(self, chain: ChainId) -> Result<(), ScoringError> {
        if self.unread_chain() == Some(chain) { Err(ScoringError::ChainDown(chain)) } else { Ok(()) }
    }

    /// The chain that cannot be read.
    pub(crate) fn unread_chain(self) -> Option<ChainId> {
        if let Some(Behaviour::ChainUnread(chain)) = self.0 { Some(chain) } else { None }
    }

    /// Changes a plain report into that of the condition, and returns what was not read; `None` for a plain condition.
    pub fn change(self, report: &mut MockReport) -> Option<UnreadByChain> {
        if self.is_plain() {
            return None;
        }
        let mut unread = UnreadByChain::new();
        match self.0 {
            Some(Behaviour::Pending(_)) => report.pools.iter_mut().for_each(pending),
            Some(Behaviour::Partial) => first(report).into_iter().for_each(|pool| pool.coverage = Coverage::Partial),
            Some(Behaviour::FailedPool) => first(report).into_iter().for_each(failed),
            Some(Behaviour::Provisional) => {
                unread.extend(report.active_chains.first().map(|chain| (*chain, Unread::price(None))));
            }
            Some(Behaviour::ChainUnread(chain)) => {
                without(report, chain);
                unread.push((chain, Unread::chain()));
            }
            Some(Behaviour::LiquidatedYesterday) => {
                first(report).into_iter().for_each(|pool| liquidated(pool, chrono::Utc::now()));
            }
            _ => {}
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
    let collected = |count: Option<u64>| count.map(|_| 0);
    let EventCounts { supply, withdraw, borrow, repay, liquidation } = pool.counts;
    pool.coverage = Coverage::Pending;
    pool.synced_to_block = None;
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
