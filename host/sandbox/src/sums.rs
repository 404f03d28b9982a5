//! Summaries from the generator's reports and portfolios.

use std::collections::{BTreeMap, BTreeSet};

use super::{MockRequest, Sandbox, condition::Reading, now};
use assay_domain::{ChainId, ChainSummary, Coverage, SeenOn, Summary, time_from_unix};
use assay_registry::{ChainValue, MockReport};
use assay_report::Summarized;
use assay_score::ScoringError;

/// Seconds between two blocks of a mock chain, whose block 0 was in 1970: a generator gives times and no block numbers.
const BLOCK: u64 = 12;

impl Sandbox {
    /// The portfolio, as a summary with US dollars only.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn holdings(&self, asked: &MockRequest) -> Result<Summarized, ScoringError> {
        asked.condition.require_reading()?;
        let on = |ChainValue { chain_id, total_asset_usd }| ChainSummary {
            chain_id,
            coverage: Coverage::Complete,
            summary: Summary { asset_usd: total_asset_usd, ..Summary::EMPTY },
        };
        let held =
            if asked.condition.reading == Reading::Inactive { Vec::new() } else { self.portfolio(asked.address)? };
        let is_changed = asked.condition.changes_report();
        let mock = if is_changed { Some(self.generator()?.report(&asked.address)?) } else { None };
        Ok(summarized(asked, held.into_iter().map(on).collect(), mock))
    }

    /// The summary of the report.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn summary(&self, asked: &MockRequest) -> Result<Summarized, ScoringError> {
        asked.condition.require_reading()?;
        let mut mock = self.generator()?.report(&asked.address)?;
        if asked.condition.reading == Reading::Inactive {
            asked.condition.change(&mut mock);
        }
        Ok(summarized(asked, by_chain(&mock), Some(mock)))
    }

    /// The summary of the report on one chain.
    ///
    /// # Errors
    /// As [`Sandbox::summary`], and `ScoringError::ChainDown` if the condition makes the chain unreadable.
    pub fn chain_summary(&self, asked: &MockRequest, chain: ChainId) -> Result<Summarized, ScoringError> {
        asked.condition.require(chain)?;
        let mut one = self.summary(asked)?;
        one.chains.retain(|part| part.chain_id == chain);
        one.unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        Ok(one)
    }
}

/// The sums of `chains` under the condition of `asked`. A plain condition needs no report.
fn summarized(asked: &MockRequest, mut chains: Vec<ChainSummary>, report: Option<MockReport>) -> Summarized {
    if let Some(lost) = asked.condition.unread_chain() {
        let lost = chains.iter_mut().filter(|part| part.chain_id == lost);
        lost.for_each(|part| (part.coverage, part.summary) = (Coverage::Failed, Summary::EMPTY));
    }
    let unread = report.and_then(|mut report| asked.condition.change(&mut report));
    Summarized { address: asked.address, fresh: now(), chains, identity: BTreeSet::new(), unread }
}

/// The sums of a report by chain. Figures of the whole address are split over its active chains, so that the sums add
/// up to the report.
fn by_chain(report: &MockReport) -> Vec<ChainSummary> {
    let mut chains = BTreeMap::<ChainId, Summary>::new();
    let mut add = |chain: ChainId, part: Summary| {
        let sum = chains.entry(chain).or_insert(Summary::EMPTY);
        *sum = sum.plus(part);
    };
    let seen = |chain_id, at: u64| Some(SeenOn { chain_id, block: at / BLOCK, time: time_from_unix(at) });
    for (chain, transactions) in report.transactions() {
        let (first, last) = (seen(chain, report.first_transaction), seen(chain, report.first_transaction));
        add(chain, Summary { first, last, transactions, ..Summary::EMPTY });
    }
    for token in &report.tokens {
        add(token.chain_id, Summary { asset_usd: token.value_usd, balances: 1, ..Summary::EMPTY });
    }
    for position in &report.positions {
        let (supplied, debt_usd) = (position.supplied, position.borrowed);
        add(position.chain_id, Summary { asset_usd: supplied, collateral_usd: supplied, debt_usd, ..Summary::EMPTY });
    }
    for pool in &report.pools {
        let repayments = pool.counts.repay.unwrap_or(0);
        let liquidations = pool.counts.liquidation.unwrap_or(0);
        let last = pool.last_event.and_then(|at| seen(pool.chain_id, at));
        add(pool.chain_id, Summary { last, repayments, liquidations, ..Summary::EMPTY });
    }
    chains
        .into_iter()
        .map(|(chain_id, summary)| ChainSummary { chain_id, coverage: Coverage::Complete, summary })
        .collect()
}
