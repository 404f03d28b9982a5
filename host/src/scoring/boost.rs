//! The enhanced score: off-chain assets that the caller vouches for, on top of the chains.

use std::sync::Arc;

use super::{Scored, Scoring, ScoringError};
use crate::domain::{Assessment, ModelKind, Subject};

impl Scoring {
    /// The score of `subject` with `total_asset_usd` of off-chain assets added by the boost champion.
    /// Decile and model version are the credit champion's: it is the score's scale.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub async fn boosted(&self, subject: &Subject, total_asset_usd: f64) -> Result<Arc<Scored>, ScoringError> {
        let credit = self.inner.registry.champion(ModelKind::Credit)?;
        let base = self.score_with(&credit, subject).await?;
        let score = self.inner.registry.champion(ModelKind::Boost)?.boost(base.assessment.score, total_asset_usd)?;
        let assessment = Assessment { score, decile: credit.decile(score)?, factors: base.assessment.factors.clone() };
        Ok(Arc::new(Scored { assessment, ..Scored::clone(&base) }))
    }
}
