//! The scores of an address that go on a chain: by pinned models, with the coverage of the data behind them.

use std::sync::Arc;

use chrono::Utc;

use super::{Scoring, ScoringError};
use assay_domain::{
    Address, Coverage, ModelKind, ModelRef, ModelVersion, Part, Standing, Time, UnreadByChain,
    features::{Features, features},
};
use assay_registry::{Chosen, CreditModel, Model, OfKind, SybilModel};
use assay_rollout::{Basis, Scored};

/// How attestations are counted: each statement once, also if several chains repeat it.
pub const IDENTITY_SCHEME: &str = "1.0";

/// Scores of pinned models.
#[derive(Debug, Clone)]
pub struct Appraisal {
    /// 300 to 1000.
    pub credit: u32,
    pub credit_model: ModelRef,
    /// 0 (human) to 100 (bot).
    pub sybil: u8,
    pub sybil_model: ModelRef,
    /// Distinct attestations.
    pub attestations: usize,
    /// When the read of the chains ended.
    pub read_at: Time,
    /// The coverage of everything read from the chains.
    pub coverage: Coverage,
    pub events_coverage: Coverage,
    pub identity_coverage: Coverage,
    /// The unread parts that the scores use, by chain.
    pub unread: UnreadByChain,
    /// The credit score with the features that it was computed from.
    pub scored: Scored,
    pub features: Features,
}

/// Why there is no appraisal.
#[derive(Debug, thiserror::Error)]
pub enum AppraisalError {
    #[error("the {kind} model {version} is not on the shelf")]
    NoModel { kind: ModelKind, version: ModelVersion },
    #[error(transparent)]
    Scoring(#[from] ScoringError),
}

impl Scoring {
    /// The appraisal of `address` by these versions, regardless of their roles.
    ///
    /// # Errors
    /// [`AppraisalError`]; as [`Scoring::score`] for an address without activity.
    pub async fn appraisal(
        &self,
        address: Address,
        credit: &ModelVersion,
        sybil: &ModelVersion,
    ) -> Result<Appraisal, AppraisalError> {
        let (credit, sybil): (CreditModel, SybilModel) = (self.pinned(credit)?, self.pinned(sybil)?);
        let snapshot = self.exact(address).await?;
        let features = features(&snapshot);
        let reference = |model: &Model| model.reference().clone();
        let assessment = credit.score(&features).map_err(ScoringError::from)?;
        let score = assessment.score.get();
        let scored = Scored {
            address,
            assessment,
            model: reference(&credit),
            chosen: Chosen::Requested,
            at: Utc::now(),
            coverage: snapshot.score_coverage(),
            fresh: self.freshness(&snapshot),
            record: None,
            basis: Basis::Wallet(Standing::of(&features)),
            origins: Arc::new(snapshot.origins()),
        };
        Ok(Appraisal {
            credit: score,
            credit_model: reference(&credit),
            sybil: sybil.risk(&features).map_err(ScoringError::from)?.risk,
            sybil_model: reference(&sybil),
            attestations: snapshot.distinct_attestations().len(),
            read_at: snapshot.as_of,
            coverage: snapshot.coverage(),
            events_coverage: snapshot.events_coverage(),
            identity_coverage: snapshot.identity_coverage(),
            unread: snapshot.unread().filter(|(_, unread)| is_used(&unread.part)).collect(),
            scored,
            features,
        })
    }

    fn pinned<M: OfKind>(&self, version: &ModelVersion) -> Result<M, AppraisalError> {
        let found = self.inner.registry.version(version);
        found.ok_or_else(|| AppraisalError::NoModel { kind: M::KIND, version: version.clone() })
    }
}

/// Whether one of the scores uses this part: the sybil score and the count of attestations also use attestations.
fn is_used(part: &Part) -> bool {
    part.is_scored() || matches!(part, Part::Attestations(_))
}
