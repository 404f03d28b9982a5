//! Scoring as the judge of reputation: the two are siblings, and here is where they meet.

use futures::{FutureExt, future::BoxFuture};

use crate::{
    config,
    reputation::{Judge, Unjudged},
    scoring::{AppraisalError, Scoring, ScoringError},
    store::records::ScoresRecord,
};
use assay_domain::{Address, ModelVersion};
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
