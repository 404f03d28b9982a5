//! The enhanced score: off-chain assets, as the caller states them, added to what the chains show.

use std::sync::Arc;

use chrono::Utc;

use super::{Ask, Scoring, ScoringError};
use crate::rollout::{Basis, Inputs, Scored};
use assay_domain::{Assessment, Subject};
use assay_registry::BoostModel;

impl Scoring {
    /// The score of `subject` with `total_asset_usd` of off-chain assets added by the boost champion.
    /// Decile and model version are those of the credit model, whose scale the score has.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub async fn boosted(
        &self,
        subject: &Subject,
        total_asset_usd: f64,
        ask: &Ask<'_>,
    ) -> Result<Arc<Scored>, ScoringError> {
        let credit = self.credit(ask)?;
        let (base, features) = self.score_with(&credit, subject, ask).await?;
        let model = self.inner.registry.champion::<BoostModel>()?;
        let score = model.boost(base.assessment.score, total_asset_usd)?;
        let assessment = Assessment { score, decile: credit.decile(score), factors: base.assessment.factors.clone() };
        let slot = self.inner.rollout.reserve_record();
        let record = slot.as_ref().map(|slot| slot.id);
        // The score was calculated now, from a snapshot that may be older.
        let scored =
            Arc::new(Scored { assessment, at: Utc::now(), record, basis: Basis::Boosted, ..Scored::clone(&base) });
        if let Some(slot) = slot {
            let boost = Some((model.reference().clone(), total_asset_usd));
            slot.fill(&scored, Inputs { features, boost, asked_by: ask.by.to_owned() });
        }
        Ok(scored)
    }
}
