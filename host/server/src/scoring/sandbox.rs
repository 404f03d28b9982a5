//! Mock answers from the sandbox champion, on the scale of the credit champion.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use super::{Aggregate, Appraisal, MeanScore, ScoringError, Summarized};
use crate::rollout::Scored;
use assay_domain::{
    Address, Assessment, ChainId, ChainSummary, Coverage, Decile, Factor, Freshness, ModelRef, Score, SeenOn, Summary,
    Time, time_from_unix,
};
use assay_registry::{ActiveModels, BoostModel, ChainValue, CreditModel, MockReport, SandboxModel};

/// The champions of one moment, so that a whole answer comes from one generator on one scale.
pub struct Sandbox {
    active: Arc<ActiveModels>,
}

/// A mock score. Its model is the credit champion, which is the `model_version` of the contract.
#[derive(Debug, Clone)]
pub struct SandboxScore {
    pub score: Score,
    pub decile: Decile,
    pub model: ModelRef,
}

impl Sandbox {
    pub(super) fn new(active: Arc<ActiveModels>) -> Self {
        Self { active }
    }

    /// # Errors
    /// [`ScoringError::Model`] without a sandbox or credit champion, or where the generator fails.
    pub fn score(&self, address: Address) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.score(&address)?)
    }

    /// The score with off-chain assets added.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn boosted(&self, address: Address, total_asset_usd: f64) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.boosted(&address, total_asset_usd)?)
    }

    /// The mean over `addresses`.
    ///
    /// # Errors
    /// As [`Sandbox::score`]; [`ScoringError::NoneValid`] for no addresses.
    pub fn mean(&self, addresses: &[Address]) -> Result<SandboxScore, ScoringError> {
        let generator = self.generator()?;
        let scores = addresses.iter().map(|address| generator.score(address)).collect::<Result<Vec<_>, _>>()?;
        self.on_scale(Score::mean(&scores).ok_or(ScoringError::NoneValid)?)
    }

    /// The score, with `boost` US dollars of off-chain assets where given, as a production path answers it.
    pub(super) fn scored(&self, address: Address, boost: Option<f64>, factors: bool) -> Result<Scored, ScoringError> {
        let SandboxScore { score, decile, model } = match boost {
            None => self.score(address)?,
            // The rule of production, not that of the sandbox paths.
            Some(total_asset_usd) => {
                let base = self.generator()?.score(&address)?;
                self.on_scale(self.active.champion::<BoostModel>()?.boost(base, total_asset_usd)?)?
            }
        };
        let factors = if factors { self.factors(address)? } else { Vec::new() };
        let (at, fresh) = now();
        Ok(Scored {
            address,
            assessment: Assessment { score, decile, factors },
            model,
            at,
            coverage: Coverage::Complete,
            fresh,
            record: None,
        })
    }

    /// The mean as a production path answers it.
    pub(super) fn mean_scored(&self, addresses: Vec<Address>) -> Result<MeanScore, ScoringError> {
        let SandboxScore { score, decile, model } = self.mean(&addresses)?;
        let (at, fresh) = now();
        Ok(MeanScore { addresses, score, decile, model, at, coverage: Coverage::Complete, fresh, scores: Vec::new() })
    }

    /// A mock appraisal: the lower the credit score, the higher the sybil risk, and no attestations.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn appraisal(&self, address: Address) -> Result<Appraisal, ScoringError> {
        let generator = self.generator()?;
        let credit = generator.score(&address)?.get();
        Ok(Appraisal {
            credit,
            credit_model: generator.reference().clone(),
            sybil: u8::try_from(1000_u32.saturating_sub(credit) / 7).unwrap_or(100),
            sybil_model: generator.reference().clone(),
            attestations: 0,
            read_at: chrono::Utc::now(),
            coverage: Coverage::Complete,
            events_coverage: Coverage::Complete,
            identity_coverage: Coverage::Complete,
            unread: Vec::new(),
        })
    }

    /// The factors of the mock score.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn factors(&self, address: Address) -> Result<Vec<Factor>, ScoringError> {
        Ok(self.generator()?.factors(&address)?)
    }

    /// # Errors
    /// As [`Sandbox::score`].
    pub fn report(&self, address: Address) -> Result<MockReport, ScoringError> {
        Ok(self.generator()?.report(&address)?)
    }

    /// US dollars by chain. A chain that is not listed holds nothing.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn portfolio(&self, address: Address) -> Result<Vec<ChainValue>, ScoringError> {
        Ok(self.generator()?.portfolio(&address)?)
    }

    /// The mock portfolio, as sums with US dollars alone.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn holdings(&self, address: Address) -> Result<Summarized, ScoringError> {
        let on = |ChainValue { chain_id, total_asset_usd }| ChainSummary {
            chain_id,
            coverage: Coverage::Complete,
            summary: Summary { asset_usd: total_asset_usd, ..Summary::EMPTY },
        };
        Ok(mock(address, self.portfolio(address)?.into_iter().map(on).collect()))
    }

    /// The sums of the mock report.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn summary(&self, address: Address) -> Result<Summarized, ScoringError> {
        Ok(mock(address, summaries(&self.report(address)?)))
    }

    /// The sums of the mock report on one chain.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn chain_summary(&self, address: Address, chain: ChainId) -> Result<Summarized, ScoringError> {
        let mut one = self.summary(address)?;
        one.chains.retain(|part| part.chain_id == chain);
        Ok(one)
    }

    /// The sums of the mock reports of several addresses.
    ///
    /// # Errors
    /// As [`Sandbox::score`]; [`ScoringError::NoneValid`] for no addresses.
    pub fn aggregate(&self, addresses: &[Address]) -> Result<Aggregate, ScoringError> {
        let all = addresses.iter().map(|address| self.summary(*address)).collect::<Result<Vec<_>, _>>()?;
        Aggregate::of(&all).ok_or(ScoringError::NoneValid)
    }

    fn generator(&self) -> Result<SandboxModel, ScoringError> {
        Ok(self.active.champion()?)
    }

    fn on_scale(&self, score: Score) -> Result<SandboxScore, ScoringError> {
        let credit: CreditModel = self.active.champion()?;
        Ok(SandboxScore { score, decile: credit.decile(score), model: credit.reference().clone() })
    }
}

/// The time of a mock answer. Its lifetime is zero: another generator may answer the next request.
fn now() -> (Time, Freshness) {
    let at = chrono::Utc::now();
    (at, Freshness { read_at: at, life: Duration::ZERO })
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
