//! Mock answers from the sandbox champion, on the scale of the credit champion.

use std::sync::Arc;

use super::ScoringError;
use crate::{
    domain::{Address, Decile, Factor, ModelKind, ModelRef, Score},
    registry::{ChainValue, Lineup, MockReport, Model},
};

/// The champions of one moment, so that one sandbox answer is of one generator and one scale from beginning to end.
pub struct Sandbox {
    lineup: Arc<Lineup>,
}

/// A mock score. The model is the credit champion, as the contract says of `model_version`.
#[derive(Debug, Clone)]
pub struct SandboxScore {
    pub score: Score,
    pub decile: Decile,
    pub model: ModelRef,
}

impl Sandbox {
    pub(super) fn new(lineup: Arc<Lineup>) -> Self {
        Self { lineup }
    }

    /// # Errors
    /// [`ScoringError::Model`] without a sandbox or credit champion, or where the generator fails.
    pub fn score(&self, address: Address) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.mock_score(&address)?)
    }

    /// The score with off-chain assets added.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn boosted(&self, address: Address, total_asset_usd: f64) -> Result<SandboxScore, ScoringError> {
        self.on_scale(self.generator()?.mock_boosted(&address, total_asset_usd)?)
    }

    /// The mean over `addresses`; `None` of none.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn mean(&self, addresses: &[Address]) -> Result<Option<SandboxScore>, ScoringError> {
        let generator = self.generator()?;
        let scores = addresses.iter().map(|address| generator.mock_score(address)).collect::<Result<Vec<_>, _>>()?;
        Score::mean(&scores).map(|mean| self.on_scale(mean)).transpose()
    }

    /// What a real model would say of this score.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn factors(&self, address: Address) -> Result<Vec<Factor>, ScoringError> {
        Ok(self.generator()?.mock_factors(&address)?)
    }

    /// # Errors
    /// As [`Sandbox::score`].
    pub fn report(&self, address: Address) -> Result<MockReport, ScoringError> {
        Ok(self.generator()?.mock_report(&address)?)
    }

    /// Dollars by chain. A chain that is not listed holds nothing.
    ///
    /// # Errors
    /// As [`Sandbox::score`].
    pub fn portfolio(&self, address: Address) -> Result<Vec<ChainValue>, ScoringError> {
        Ok(self.generator()?.mock_portfolio(&address)?)
    }

    fn generator(&self) -> Result<&Model, ScoringError> {
        Ok(self.lineup.champion(ModelKind::Sandbox)?)
    }

    fn on_scale(&self, score: Score) -> Result<SandboxScore, ScoringError> {
        let credit = self.lineup.champion(ModelKind::Credit)?;
        Ok(SandboxScore { score, decile: credit.decile(score)?, model: credit.reference().clone() })
    }
}
