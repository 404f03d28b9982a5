//! Mock answers from the sandbox champion, on the scale of the credit champion.

mod sums;

use std::{sync::Arc, time::Duration};

use super::{Appraisal, MeanScore, ScoringError, Several, SkipReason, Skipped, scenario::Condition};
use crate::rollout::{Basis, Scored};
use assay_domain::{Address, Assessment, Coverage, Decile, Factor, Freshness, ModelRef, Score, Time};
use assay_registry::{
    ActiveModels, Behaviour, BoostModel, ChainValue, CreditModel, MockReport, MockSubject, SandboxModel, Scenario,
};

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
    pub(super) fn scored(
        &self,
        (address, condition): (Address, Condition),
        boost: Option<f64>,
        factors: bool,
    ) -> Result<Scored, ScoringError> {
        let SandboxScore { score, decile, model } = match boost {
            None => self.score(address)?,
            // The rule of production, not that of the sandbox paths.
            Some(total_asset_usd) => {
                let base = self.generator()?.score(&address)?;
                self.on_scale(self.active.champion::<BoostModel>()?.boost(base, total_asset_usd)?)?
            }
        };
        let factors = if factors { condition.factors(self.factors(address)?) } else { Vec::new() };
        let (at, fresh) = now();
        Ok(Scored {
            address,
            assessment: Assessment { score, decile, factors },
            model,
            at,
            coverage: self.coverage(address, condition)?,
            fresh,
            record: None,
            basis: Basis::Unknown,
            origins: Arc::default(),
        })
    }

    fn coverage(&self, address: Address, condition: Condition) -> Result<Coverage, ScoringError> {
        if condition.is_plain() { Ok(Coverage::Complete) } else { Ok(condition.coverage(self.report(address)?)) }
    }

    /// The addresses that have an answer, each with its condition.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] where no address has an answer; any other error of [`Condition::of`] for one of them.
    pub(super) fn conditions(
        &self,
        addresses: Vec<(String, Address)>,
    ) -> Result<Several<(Address, Condition)>, ScoringError> {
        let asked = addresses.len();
        let (mut found, mut skipped) = (Vec::with_capacity(asked), Vec::new());
        for (item, address) in addresses {
            match self.condition(address) {
                Ok(condition) => found.push((address, condition)),
                Err(ScoringError::NotFound) => skipped.push(Skipped { item, why: SkipReason::NotFound }),
                Err(error) => return Err(error),
            }
        }
        if found.is_empty() && asked > 0 { Err(ScoringError::NotFound) } else { Ok(Several { found, skipped }) }
    }

    /// The condition of a request about `address`.
    ///
    /// # Errors
    /// As [`Condition::of`].
    pub(super) fn condition(&self, address: Address) -> Result<Condition, ScoringError> {
        Condition::of(self.behaviour(MockSubject::Address(address))?)
    }

    /// What a production path does about `subject` in place of a plain answer.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn behaviour(&self, subject: MockSubject) -> Result<Option<Behaviour>, ScoringError> {
        Ok(self.generator()?.behaviour(&subject)?)
    }

    /// The subjects with a behaviour.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn scenarios(&self) -> Result<Vec<Scenario>, ScoringError> {
        Ok(self.generator()?.scenarios()?)
    }

    /// The mean as a production path answers it.
    pub(super) fn mean_scored(&self, asked: Several<(Address, Condition)>) -> Result<MeanScore, ScoringError> {
        let Several { found: asked, skipped } = asked;
        let coverage = asked.iter().map(|(address, condition)| self.coverage(*address, *condition));
        let coverage = Coverage::least(coverage.collect::<Result<Vec<_>, _>>()?);
        let addresses: Vec<Address> = asked.into_iter().map(|(address, _)| address).collect();
        let SandboxScore { score, decile, model } = self.mean(&addresses)?;
        let (at, fresh) = now();
        Ok(MeanScore { addresses, score, decile, model, at, coverage, fresh, scores: Vec::new(), skipped })
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
            basis: None,
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
