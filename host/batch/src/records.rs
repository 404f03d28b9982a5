//! The stored records of jobs. The API creates, pauses and removes a [`JobRecord`]; the host that holds the lease
//! writes its progress together with the answers and their payment.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    row::{RowRecord, RowStatus},
    table::Row,
};
use assay_access::records::units;
use assay_domain::{ModelVersion, Time};
use assay_store::{Batch, Family, Key};

/// All jobs.
pub(crate) const JOBS: Family<JobRecord> = Family::listed("batch-job/");
/// Rows of a chunk, which are read together.
pub(crate) const CHUNK: usize = 100;

pub(crate) fn job(id: Uuid) -> Key<JobRecord> {
    JOBS.key(id)
}

/// The rows of a chunk, as the caller sent them.
pub(crate) fn rows(id: Uuid, chunk: usize) -> Key<Vec<Row>> {
    Family::new("batch-rows/").key(format_args!("{id}/{chunk:06}"))
}

/// The answers about the rows of a chunk; `None` for a row that was not looked at.
pub(crate) fn answers(id: Uuid, chunk: usize) -> Key<Vec<Option<RowRecord>>> {
    Family::new("batch-answers/").key(format_args!("{id}/{chunk:06}"))
}

/// The jobs of `owner`.
pub(crate) fn own_count(owner: &str) -> Key<u64> {
    Family::new("batch-count/").key(hex::encode(Sha256::digest(owner)))
}

/// A job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobRecord {
    pub id: Uuid,
    /// The identity of the API key, and its name.
    pub owner: String,
    pub by: String,
    pub columns: Vec<String>,
    /// The column of the wallets.
    pub wallets: usize,
    pub rows: usize,
    pub model_version: Option<ModelVersion>,
    pub state: JobState,
    /// The chunk that is read next.
    pub next: usize,
    /// Rows that were looked at, by what became of them.
    pub counts: BTreeMap<RowStatus, usize>,
    /// Passes over the rows that began; a second one reads what was unread in the first.
    pub passes: u32,
    /// Units of a row; the limit of the key is absent if it is not metered.
    pub unit: u64,
    pub limit: Option<u64>,
    /// Units that were charged, without those of `reserved`.
    pub units: u64,
    /// Rows whose units were taken, and whose answers are not stored yet.
    pub reserved: usize,
    pub created_at: Time,
    pub ended_at: Option<Time>,
    pub expires_at: Time,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub(crate) enum JobState {
    Queued,
    Running,
    Paused(Pause),
    Done,
    Failed { why: String },
}

/// Why a job is paused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub(crate) enum Pause {
    /// Its owner asked for it.
    Owner,
    /// The units of its key are used up.
    Units,
    /// The configuration of the server has its key no more, or without the scope; it may have it again.
    Key,
}

impl JobRecord {
    pub(crate) fn chunks(&self) -> usize {
        self.rows.div_ceil(CHUNK)
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(self.state, JobState::Queued | JobState::Running)
    }

    /// The units of so many rows.
    pub(crate) fn cost(&self, rows: usize) -> u64 {
        self.unit.saturating_mul(rows as u64)
    }

    /// Adds to `batch` that the units of so many rows are given back.
    pub(crate) fn refunded(&self, batch: Batch, rows: usize) -> Batch {
        match self.limit {
            Some(_) if self.cost(rows) > 0 => batch.refund(&units(&self.owner), self.cost(rows)),
            _ => batch,
        }
    }

    pub(crate) fn count(&self, status: RowStatus) -> usize {
        self.counts.get(&status).copied().unwrap_or_default()
    }

    /// Rows that were looked at.
    pub(crate) fn seen(&self) -> usize {
        self.counts.values().sum()
    }
}
