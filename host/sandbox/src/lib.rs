//! The sandbox: mock answers from the sandbox champion, on the scale of the credit champion.
//!
//! A sandbox server is a production server whose answers about wallets come from [`SandboxSource`] instead of the
//! chains. Every answer has the type of a read of the chains, so later code does not distinguish them.

#![cfg_attr(not(test), warn(unreachable_pub))]

pub mod bodies;
mod condition;
pub mod config;
mod failure;
mod features;
mod history;
mod mocks;
mod payments;
mod reading;
mod report;
mod routes;
mod scripted;
mod source;
mod submissions;
mod sums;
mod watch_step;
mod watched;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderName, HeaderValue},
    middleware::map_response,
    response::Response,
};

use assay_domain::{Address, Assessment, Coverage, Decile, Factor, Freshness, ModelRef, Score};
use assay_registry::{ActiveModels, BoostModel, ChainValue, CreditModel, MockSubject, SandboxModel, Scenario};
pub(crate) use assay_report::responses;
use assay_rollout::{Basis, Scored};
use assay_score::{Baseline, ScoringError};

use condition::Condition;
pub use mocks::Mocks;
pub use payments::MockPayments;
pub use routes::{SandboxRoutes, operations, routes};
use scripted::SHIPPED;
pub use scripted::Scripted;
pub use source::SandboxSource;
pub use submissions::{factory, submissions};
pub use watch_step::WatchStep;
pub use watched::MARKET;

/// Marks the responses of a sandbox.
const MOCK: HeaderName = HeaderName::from_static("x-assay-sandbox");

/// The champions of one moment, so that a whole answer comes from one generator on one scale.
pub struct Sandbox {
    active: Arc<ActiveModels>,
    /// Instead of the credit champion.
    credit: Option<CreditModel>,
    /// The scenarios of a tester.
    scripted: Arc<[Scripted]>,
}

/// A mock score. Its model is the credit champion, which is the `model_version` of the contract.
#[derive(Debug, Clone)]
pub struct SandboxScore {
    pub score: Score,
    pub decile: Decile,
    pub model: ModelRef,
}

/// An address, and the condition under which a request about it is answered.
#[derive(Debug, Clone)]
pub struct MockRequest {
    pub address: Address,
    pub condition: Condition,
}

impl MockRequest {
    /// A request without a scenario.
    pub fn plainly(address: Address) -> Self {
        Self { address, condition: Condition::default() }
    }
}

impl Sandbox {
    /// # Errors
    /// `ScoringError::Model` without a sandbox or credit champion, or if the generator fails.
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
    /// As [`Sandbox::score`]; `ScoringError::NoneValid` for no addresses.
    pub fn mean(&self, addresses: &[Address]) -> Result<SandboxScore, ScoringError> {
        let generator = self.generator()?;
        let scores = addresses.iter().map(|address| generator.score(address)).collect::<Result<Vec<_>, _>>()?;
        self.on_scale(Score::mean(&scores).ok_or(ScoringError::NoneValid)?)
    }

    /// The score as a production path answers it, with off-chain assets in US dollars if they are given.
    fn scored(&self, asked: &MockRequest, off_chain_usd: Option<f64>, factors: bool) -> Result<Scored, ScoringError> {
        asked.condition.require_score()?;
        let (base, found) = self.assessed(asked, self.generator()?.score(&asked.address)?, factors)?;
        // The rule of production, not that of the sandbox paths.
        let score = match off_chain_usd {
            None => base,
            Some(usd) => self.active.champion::<BoostModel>()?.boost(base, usd)?,
        };
        self.scored_as(asked, self.on_scale(score)?, found)
    }

    /// The score of a wallet for which the generator drew `drawn`, and its factors if they are wanted.
    fn assessed(&self, asked: &MockRequest, drawn: Score, factors: bool) -> Result<(Score, Vec<Factor>), ScoringError> {
        let MockRequest { address, condition } = asked;
        let needed = factors || condition.needs_factors();
        let found = if needed { self.generator()?.factors(address)? } else { Vec::new() };
        let (score, found) = condition.assessed(drawn, found, &self.credit()?);
        Ok((score, if factors { found } else { Vec::new() }))
    }

    /// The score with features of the mock report, which move it as they move the score of the credit model.
    ///
    /// # Errors
    /// As [`Sandbox::score`], and the refusal of the credit model.
    fn baseline(&self, asked: &MockRequest, factors: bool) -> Result<Baseline, ScoringError> {
        let scored = self.scored(asked, None, factors)?;
        let as_of = u64::try_from(scored.at.timestamp()).unwrap_or(0);
        let features = features::features(&self.generator()?.report(&asked.address)?, as_of);
        Baseline::mock(self.credit()?, Arc::new(scored), Arc::new(features))
    }

    fn scored_as(
        &self,
        asked: &MockRequest,
        score: SandboxScore,
        factors: Vec<Factor>,
    ) -> Result<Scored, ScoringError> {
        let SandboxScore { score, decile, model } = score;
        let fresh = now();
        Ok(Scored {
            address: asked.address,
            assessment: Assessment { score, decile, factors },
            model,
            chosen: assay_registry::Chosen::Champion,
            at: fresh.read_at,
            coverage: self.coverage(asked)?,
            fresh,
            record: None,
            basis: Basis::Unknown,
            origins: Arc::default(),
        })
    }

    fn coverage(&self, MockRequest { address, condition }: &MockRequest) -> Result<Coverage, ScoringError> {
        if !condition.changes_report() {
            return Ok(Coverage::Complete);
        }
        Ok(condition.coverage(self.generator()?.report(address)?))
    }

    /// A request about `address`.
    ///
    /// # Errors
    /// As [`Sandbox::condition`].
    fn asked(&self, address: Address) -> Result<MockRequest, ScoringError> {
        Ok(MockRequest { address, condition: self.condition(MockSubject::Address(address))? })
    }

    /// The condition of the production paths for `subject`: of the tester, of the generator, or of the host.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub(crate) fn condition(&self, subject: MockSubject) -> Result<Condition, ScoringError> {
        let of = |all: &[Scripted]| all.iter().find(|one| one.scenario.subject == subject).cloned();
        if let Some(own) = of(&self.scripted) {
            return Ok(own.condition);
        }
        Ok(match self.generator()?.behaviour(&subject)? {
            Some(behaviour) => behaviour.into(),
            None => of(&SHIPPED).map_or_else(Condition::default, |shipped| shipped.condition),
        })
    }

    /// The subjects with a condition: of the tester, of the generator, and of the host. The first of each subject.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn scenarios(&self) -> Result<Vec<Scenario>, ScoringError> {
        let of = |all: &[Scripted]| all.iter().map(|one| one.scenario.clone()).collect::<Vec<_>>();
        let mut all = of(&self.scripted);
        for scenario in self.generator()?.scenarios()?.into_iter().chain(of(&SHIPPED)) {
            if all.iter().all(|other| other.subject != scenario.subject && other.id != scenario.id) {
                all.push(scenario);
            }
        }
        Ok(all)
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

    fn credit(&self) -> Result<CreditModel, ScoringError> {
        match &self.credit {
            Some(credit) => Ok(credit.clone()),
            None => Ok(self.active.champion()?),
        }
    }

    fn on_scale(&self, score: Score) -> Result<SandboxScore, ScoringError> {
        let credit = self.credit()?;
        Ok(SandboxScore { score, decile: credit.decile(score), model: credit.reference().clone() })
    }
}

/// The freshness of a mock answer. Its lifetime is zero: another generator may answer the next request.
fn now() -> Freshness {
    Freshness { read_at: chrono::Utc::now(), life: Duration::ZERO }
}

/// Marks every response of `router` as a mock.
pub fn mark(router: Router) -> Router {
    router.layer(map_response(mark_mock))
}

async fn mark_mock(mut response: Response) -> Response {
    response.headers_mut().insert(MOCK, HeaderValue::from_static("true"));
    response
}
