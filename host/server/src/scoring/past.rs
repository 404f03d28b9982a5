//! The score of a wallet as the chains showed it at a moment in the past.

use std::sync::Arc;

use chrono::Utc;

use super::{Ask, Scoring, ScoringError};
use crate::{
    history::PastRecord,
    rollout::{Basis, Scored},
};
use assay_domain::{Address, Coverage, Freshness, Standing, time_from_unix};
use assay_registry::CreditModel;

impl Scoring {
    /// The model that answers `ask`.
    ///
    /// # Errors
    /// As [`Scoring::score`].
    pub fn model(&self, ask: &Ask<'_>) -> Result<CreditModel, ScoringError> {
        self.credit(ask)
    }

    /// The score by `model` of what was read.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] if the wallet had no activity, otherwise the failure of the model.
    pub fn past(&self, model: &CreditModel, wallet: Address, read: &PastRecord) -> Result<Arc<Scored>, ScoringError> {
        if !read.has_activity {
            return Err(ScoringError::NotFound);
        }
        Ok(Arc::new(Scored {
            address: wallet,
            assessment: model.score(&read.features)?,
            model: model.reference().clone(),
            at: Utc::now(),
            coverage: Coverage::Complete,
            fresh: Freshness { read_at: time_from_unix(read.features.as_of), life: self.inner.lifetimes.of(true) },
            record: None,
            basis: Basis::Wallet(Standing::of(&read.features)),
            origins: Arc::new(read.origins()),
        }))
    }
}
