//! `[batch]`: how many jobs there may be, and what is kept.

use std::time::Duration;

use assay_domain::settings::{self, Problems};
use serde::Deserialize;

/// The limits of batch jobs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// Rows of one job.
    pub max_rows: usize,
    /// Jobs of one key, finished ones included.
    pub max_jobs_per_key: u64,
    /// Time from the creation of a job to its removal.
    #[serde(rename = "keep_hours", deserialize_with = "settings::hours")]
    pub keep: Duration,
}

impl Batch {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.number("max_rows", self.max_rows, 1..=10_000);
        found.number("max_jobs_per_key", self.max_jobs_per_key, 1..=1_000);
        found.hours("keep_hours", self.keep, 1..=720);
        found
    }
}
