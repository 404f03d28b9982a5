//! The scores of a submission, by the model versions that the configuration pins.

use std::sync::Arc;

use super::records::{Coverages, ScoresRecord};
use crate::config;
use assay_domain::{Address, ModelVersion};
use assay_registry::ScoreError;
use assay_score::{
    Appraisal, AppraisalError, IDENTITY_SCHEME, Scoring, ScoringError,
    attestation::{Attestor, Stated},
};

/// Unread parts that a message names.
const MOST_NAMED: usize = 5;

/// Why there are no scores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAppraisal {
    /// A later attempt may succeed.
    NotYet(String),
    /// The named parts of the address were not read, so scores would be wrong. A later attempt may read them.
    Unread(String),
    Never(String),
}

/// Scores addresses by pinned model versions.
pub struct Appraiser {
    scoring: Scoring,
    credit: ModelVersion,
    sybil: ModelVersion,
    attestor: Option<Arc<Attestor>>,
}

impl Appraiser {
    /// `None` if the configuration names no versions.
    pub fn new(scoring: Scoring, config: &config::Reputation, attestor: Option<Arc<Attestor>>) -> Option<Self> {
        let (credit, sybil) = (config.credit_model.parse().ok()?, config.sybil_model.parse().ok()?);
        Some(Self { scoring, credit, sybil, attestor })
    }

    /// The scores and, if statements are configured, the statement of the credit score.
    ///
    /// # Errors
    /// [`NoAppraisal`].
    pub(super) async fn appraise(&self, address: Address) -> Result<(ScoresRecord, Option<Stated>), NoAppraisal> {
        let appraised = self.scoring.appraisal(address, &self.credit, &self.sybil).await;
        let appraisal = appraised.map_err(no_appraisal)?;
        let scores = complete(&appraisal)?;
        let stated = match &self.attestor {
            Some(attestor) => {
                Some(attestor.state(&appraisal.scored, &appraisal.features).await.map_err(NoAppraisal::NotYet)?)
            }
            None => None,
        };
        Ok((scores, stated))
    }
}

/// The scores, unless a part that they use was not read.
fn complete(appraisal: &Appraisal) -> Result<ScoresRecord, NoAppraisal> {
    if appraisal.unread.is_empty() {
        return Ok(appraisal.into());
    }
    let named: Vec<String> =
        appraisal.unread.iter().take(MOST_NAMED).map(|(chain, unread)| unread.on(*chain)).collect();
    let more = match appraisal.unread.len() - named.len() {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(NoAppraisal::Unread(format!("{}{more}", named.join("; "))))
}

fn no_appraisal(error: AppraisalError) -> NoAppraisal {
    match error {
        AppraisalError::Scoring(ScoringError::NotFound) => NoAppraisal::Never(ScoringError::NotFound.to_string()),
        AppraisalError::Scoring(ScoringError::Model(ScoreError::Refused(why))) => {
            NoAppraisal::Never(format!("The model does not score the address: {why}"))
        }
        // A missing model may be put on the shelf, and a failing one replaced.
        error => NoAppraisal::NotYet(error.to_string()),
    }
}

impl From<&Appraisal> for ScoresRecord {
    fn from(appraisal: &Appraisal) -> Self {
        Self {
            credit_score: appraisal.credit,
            sybil_score: appraisal.sybil,
            identity_count: u32::try_from(appraisal.attestations).unwrap_or(u32::MAX),
            credit_model: (&appraisal.credit_model).into(),
            sybil_model: (&appraisal.sybil_model).into(),
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
