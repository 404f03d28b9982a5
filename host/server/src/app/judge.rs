//! Scoring as the judge of reputation: the two are siblings, and here is where they meet.

use crate::reputation::records::{Coverages, ScoresRecord};
use futures::{FutureExt, future::BoxFuture};

use crate::{
    config,
    reputation::{Judge, Unjudged},
    scoring::{Appraisal, AppraisalError, IDENTITY_SCHEME, Scoring, ScoringError},
};
use assay_domain::{Address, ModelPin, ModelRef, ModelVersion};
use assay_registry::ScoreError;

/// Judges by the versions of the configuration.
pub struct ByScoring {
    scoring: Scoring,
    credit: ModelVersion,
    sybil: ModelVersion,
}

impl ByScoring {
    /// `None` where the configuration names no versions.
    pub fn new(scoring: Scoring, config: &config::Reputation) -> Option<Self> {
        Some(Self { scoring, credit: config.credit_model.parse().ok()?, sybil: config.sybil_model.parse().ok()? })
    }
}

impl Judge for ByScoring {
    fn judge(&self, address: Address) -> BoxFuture<'_, Result<ScoresRecord, Unjudged>> {
        async move {
            self.scoring.appraisal(address, &self.credit, &self.sybil).await.map(ScoresRecord::from).map_err(refusal)
        }
        .boxed()
    }
}

fn refusal(error: AppraisalError) -> Unjudged {
    match error {
        AppraisalError::Scoring(ScoringError::NotFound) => Unjudged::Never(ScoringError::NotFound.to_string()),
        AppraisalError::Scoring(ScoringError::Model(ScoreError::Refused(why))) => {
            Unjudged::Never(format!("The model will not judge: {why}"))
        }
        // A model that is not there may be put on the shelf, and one that failed may be replaced.
        error => Unjudged::NotYet(error.to_string()),
    }
}

impl From<Appraisal> for ScoresRecord {
    fn from(appraisal: Appraisal) -> Self {
        let pin = |model: ModelRef| ModelPin { version: model.version, digest: model.digest };
        Self {
            credit_score: appraisal.credit,
            sybil_score: appraisal.sybil,
            identity_count: u32::try_from(appraisal.attestations).unwrap_or(u32::MAX),
            credit_model: pin(appraisal.credit_model),
            sybil_model: pin(appraisal.sybil_model),
            identity_scheme: IDENTITY_SCHEME.to_owned(),
            read_at: appraisal.read_at,
            coverage: Coverages {
                chains: appraisal.coverage,
                credit_events: appraisal.events_coverage,
                identity: appraisal.identity_coverage,
            },
        }
    }
}
