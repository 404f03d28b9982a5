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
        let base = self.score(subject).await?;
        let raised = self.champion(ModelKind::Boost)?.boost(base.assessment.score, total_asset_usd).map_err(ScoringError::Model)?;
        let decile = match self.inner.registry.version(ModelKind::Credit, &base.model.version) {
            Some(model) => model.decile(raised),
            None => self.champion(ModelKind::Credit)?.decile(raised),
        };
        let assessment = Assessment { score: raised, decile, factors: base.assessment.factors.clone() };
        Ok(Arc::new(Scored { assessment, ..Scored::clone(&base) }))
    }
}
