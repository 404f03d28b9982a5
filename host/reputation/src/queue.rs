//! The submissions that have not ended, counted: for the metrics and for people.

use std::collections::BTreeMap;

use chrono::Utc;

use super::{
    Reputation,
    records::{Stage, SubmissionRecord},
};
use assay_store::StoreError;

/// The submissions that have not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// By stage, each that is not final.
    pub open: BTreeMap<Stage, u32>,
    /// Age of the oldest, in seconds; `None` if there is none.
    pub oldest_seconds: Option<u64>,
}

impl Queue {
    pub(super) fn of(open: &[SubmissionRecord]) -> Self {
        let mut by_stage: BTreeMap<Stage, u32> =
            Stage::ALL.into_iter().filter(|stage| !stage.is_terminal()).map(|stage| (stage, 0)).collect();
        for record in open {
            *by_stage.entry(record.stage).or_default() += 1;
        }
        let ages = open.iter().map(|record| (Utc::now() - record.created_at).num_seconds());
        Self { open: by_stage, oldest_seconds: ages.max().map(|age| u64::try_from(age).unwrap_or_default()) }
    }

    pub(super) fn measure(&self) {
        for (stage, count) in &self.open {
            metrics::gauge!("assay_submissions_open", "status" => stage.as_str()).set(*count);
        }
        metrics::gauge!("assay_submissions_oldest_seconds").set(self.oldest_seconds.unwrap_or_default() as f64);
    }
}

impl Reputation {
    /// # Errors
    /// The store's failure.
    pub async fn queue(&self) -> Result<Queue, StoreError> {
        Ok(Queue::of(&self.open().await?))
    }
}
