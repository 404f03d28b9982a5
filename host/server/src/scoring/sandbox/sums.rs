//! The sums of mock reports.

use std::collections::{BTreeMap, BTreeSet};

use super::{Sandbox, now};
use crate::scoring::{Aggregate, ScoringError, Several, Summarized, scenario::Condition};
use assay_domain::{Address, ChainId, ChainSummary, Coverage, SeenOn, Summary, time_from_unix};
use assay_registry::{ChainValue, MockReport};

impl Sandbox {
    /// The mock portfolio, as sums with US dollars alone.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn holdings(&self, address: Address, condition: Condition) -> Result<Summarized, ScoringError> {
        let on = |ChainValue { chain_id, total_asset_usd }| ChainSummary {
            chain_id,
            coverage: Coverage::Complete,
            summary: Summary { asset_usd: total_asset_usd, ..Summary::EMPTY },
        };
        let chains = self.portfolio(address)?.into_iter().map(on).collect();
        self.under(condition, mock(address, chains), None)
    }

    /// The sums of the mock report.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn summary(&self, address: Address, condition: Condition) -> Result<Summarized, ScoringError> {
        let report = self.report(address)?;
        self.under(condition, mock(address, summaries(&report)), Some(report))
    }

    /// Changes plain sums into those of the condition. `report` is the mock report, where the caller has it.
    fn under(
        &self,
        condition: Condition,
        mut sums: Summarized,
        report: Option<MockReport>,
    ) -> Result<Summarized, ScoringError> {
        if !condition.is_plain() {
            let report = report.map_or_else(|| self.report(sums.address), Ok)?;
            condition.sums(&mut sums, report);
        }
        Ok(sums)
    }

    /// The sums of the mock report on one chain.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn chain_summary(
        &self,
        address: Address,
        condition: Condition,
        chain: ChainId,
    ) -> Result<Summarized, ScoringError> {
        condition.require(chain)?;
        let mut one = self.summary(address, condition)?;
        one.chains.retain(|part| part.chain_id == chain);
        one.unread.iter_mut().for_each(|unread| unread.retain(|(id, _)| *id == chain));
        Ok(one)
    }

    /// The sums of the mock reports of several addresses.
    ///
    /// # Errors
    /// As [`Sandbox::score`]; [`ScoringError::NoneValid`] for no addresses.
    pub fn aggregate(&self, asked: Several<(Address, Condition)>) -> Result<Aggregate, ScoringError> {
        let found = asked.found.into_iter().map(|(address, condition)| self.summary(address, condition));
        let found = found.collect::<Result<Vec<_>, _>>()?;
        Aggregate::of(Several { found, skipped: asked.skipped }).ok_or(ScoringError::NoneValid)
    }
}

fn mock(address: Address, chains: Vec<ChainSummary>) -> Summarized {
    let (_, fresh) = now();
    Summarized { address, fresh, chains, identity: BTreeSet::new(), unread: None }
}

/// Seconds between two blocks of a mock chain, whose block 0 was in 1970: a generator gives times and no block numbers.
const BLOCK: u64 = 12;

/// The sums of a mock report by chain. Figures of the whole address are split over its active chains, so that the sums
/// add up to the report.
fn summaries(report: &MockReport) -> Vec<ChainSummary> {
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
