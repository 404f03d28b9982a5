//! Mock answers from the sandbox champion, on the scale of the credit champion.

use std::sync::Arc;

use super::ScoringError;
use crate::{
    domain::{Address, ChainId, Decile, Factor, ModelKind, ModelRef, Score},
    registry::{MockReport, Model, Registry},
};

/// A view of the two champions that one sandbox answer needs, held from its beginning to its end.
pub struct Sandbox {
    registry: Arc<Registry>,
}

/// A mock score. The model is the credit champion, as the contract says of `model_version`.
#[derive(Debug, Clone)]
pub struct SandboxScore {
    pub score: Score,
    pub decile: Decile,
    pub model: ModelRef,
}

impl Sandbox {
    pub(super) fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// # Errors
    /// [`ScoringError::NoModel`] without a sandbox or credit champion, [`ScoringError::Model`] where the generator fails.
    pub fn score(&self, address: Address) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.sandbox_score(address).map_err(ScoringError::Model)?)
    }

    /// The score with off-chain assets added.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn boosted(&self, address: Address, total_asset_usd: f64) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.sandbox_boosted(address, total_asset_usd).map_err(ScoringError::Model)?)
    }

    /// The mean over `addresses`; `None` of none.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn mean(&self, addresses: &[Address]) -> Result<Option<SandboxScore>, ScoringError> {
        let generator = self.generator()?;
        let scores: Result<Vec<Score>, _> = addresses.iter().map(|address| generator.sandbox_score(*address)).collect();
        Score::mean(&scores.map_err(ScoringError::Model)?).map(|mean| self.on_scale(mean)).transpose()
    }

    /// What a real model would say of this score.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn factors(&self, address: Address) -> Result<Vec<Factor>, ScoringError> {
        self.generator()?.sandbox_factors(address).map_err(ScoringError::Model)
    }

    /// # Errors
    /// As [`Sandbox::score`].
    pub fn report(&self, address: Address) -> Result<MockReport, ScoringError> {
        self.generator()?.sandbox_report(address).map_err(ScoringError::Model)
    }

    /// Dollars by chain. A chain that is not listed holds nothing.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn portfolio(&self, address: Address) -> Result<Vec<(ChainId, f64)>, ScoringError> {
        self.generator()?.sandbox_portfolio(address).map_err(ScoringError::Model)
    }

    fn generator(&self) -> Result<Arc<Model>, ScoringError> {
        self.registry.champion(ModelKind::Sandbox).ok_or(ScoringError::NoModel(ModelKind::Sandbox))
    }

    fn on_scale(&self, score: Score) -> Result<SandboxScore, ScoringError> {
        let credit = self.registry.champion(ModelKind::Credit).ok_or(ScoringError::NoModel(ModelKind::Credit))?;
        Ok(SandboxScore { score, decile: credit.decile(score), model: credit.reference().clone() })
    }
}
