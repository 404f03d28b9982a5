//! One subject's score from the credit champion.

use std::sync::Arc;

use chrono::Utc;
use moka::future::Cache as Moka;

use super::{Ask, Scoring, ScoringError};
use crate::{
    config,
    rollout::{Inputs, Scored},
};
use assay_chain::Read;
use assay_domain::{
    Address, Coverage, Digest, Snapshot, Subject, Time,
    features::{Features, features},
};
use assay_registry::CreditModel;

/// Scores by model, address and snapshot: a swap can never serve the old model's number, nor a new reading the old
/// score. The features stand beside the score, for whoever boosts it.
pub(super) type Cache = Moka<(Digest, Address, Time), (Arc<Scored>, Arc<Features>)>;

/// An entry lives as long as the longest-lived snapshot; a shorter-lived one is superseded by its key.
pub(super) fn cache(settings: &config::Scoring) -> Cache {
    Moka::builder().max_capacity(settings.cache_entries).time_to_live(settings.cache_ttl).build()
}

impl Scoring {
    /// The score of `subject`, from snapshots at most five minutes old.
    ///
    /// # Errors
    /// [`ScoringError::NotFound`] for an address that no chain knows or a name that resolves to nobody,
    /// [`ScoringError::ChainsDown`] where nothing could be read, [`ScoringError::Version`] where the version asked for
    /// does not answer, otherwise what the model did wrong.
    pub async fn score(&self, subject: &Subject, ask: &Ask<'_>) -> Result<Arc<Scored>, ScoringError> {
        let model = self.credit(ask)?;
        Ok(self.score_with(&model, subject, ask.by).await?.0)
    }

    pub(super) async fn score_with(
        &self,
        model: &CreditModel,
        subject: &Subject,
        by: &str,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let address = self.address(subject).await?;
        self.score_address(model, address, by).await
    }

    pub(super) async fn score_address(
        &self,
        model: &CreditModel,
        address: Address,
        by: &str,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let snapshot = self.active(address).await?;
        self.assess(model, &snapshot, by).await
    }

    /// The snapshot of an address that can be scored.
    pub(super) async fn active(&self, address: Address) -> Result<Arc<Snapshot>, ScoringError> {
        let snapshot = self.read(address).await?.snapshot;
        if !snapshot.has_activity() {
            match snapshot.coverage() {
                Coverage::Complete => return Err(ScoringError::NotFound),
                // A chain that could not be read may be the one where the address lives.
                Coverage::Partial | Coverage::Failed => return Err(ScoringError::ChainsDown),
                // Being read for the first time: a score that says so.
                Coverage::Pending => {}
            }
        }
        Ok(snapshot)
    }

    pub(super) async fn address(&self, subject: &Subject) -> Result<Address, ScoringError> {
        match subject {
            Subject::Address(address) => Ok(*address),
            Subject::Name(name) => Ok(self.inner.chains.resolve(name).await?),
        }
    }

    pub(super) async fn read(&self, address: Address) -> Result<Read, ScoringError> {
        let read = self.inner.chains.snapshot(address).await;
        if read.snapshot.chains.is_empty() || read.snapshot.all_failed() {
            return Err(ScoringError::ChainsDown);
        }
        Ok(read)
    }

    pub(super) async fn assess(
        &self,
        model: &CreditModel,
        snapshot: &Snapshot,
        by: &str,
    ) -> Result<(Arc<Scored>, Arc<Features>), ScoringError> {
        let key = (model.digest(), snapshot.address, snapshot.as_of);
        if let Some(found) = self.inner.scores.get(&key).await {
            return Ok(found);
        }
        let features = Arc::new(features(snapshot));
        let assessment = model.score(&features)?;
        let slot = self.inner.rollout.reserve_record();
        let scored = Arc::new(Scored {
            address: snapshot.address,
            assessment,
            model: model.reference().clone(),
            at: Utc::now(),
            coverage: snapshot.events_coverage(),
            fresh: self.freshness(snapshot),
            record: slot.as_ref().map(|slot| slot.id),
        });
        if let Some(slot) = slot {
            slot.fill(&scored, Inputs { features: Arc::clone(&features), boost: None, asked_by: by.to_owned() });
        }
        self.inner.rollout.offer(model, &scored, &features);
        let found = (scored, features);
        self.inner.scores.insert(key, found.clone()).await;
        Ok(found)
    }
}
