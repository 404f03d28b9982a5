//! Batch jobs, as the API shows them.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::{
    records::{JobRecord, JobState, Pause},
    row::RowStatus,
};
use assay_http::values::Moment;

/// A batch job and its progress.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchJob)]
pub(crate) struct JobBody {
    #[schema(format = Uuid)]
    id: String,
    /// `queued`, `running`, `paused`, `done` or `failed`.
    #[schema(value_type = String)]
    status: &'static str,
    /// Why it is paused (`owner`, `units_used_up` or `key`), or has failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    status_url: String,
    result_url: String,
    /// The column of the wallets.
    column: String,
    rows: usize,
    /// Rows that were looked at, by what became of them.
    counts: RowCounts,
    /// Share of the rows that were looked at, 0 to 1.
    #[schema(minimum = 0, maximum = 1)]
    progress: f64,
    /// Units charged: those of a score for each wallet that was read.
    units: u64,
    #[schema(value_type = String, format = DateTime)]
    created_at: Moment,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Moment>,
    /// When the job and its rows are removed.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Moment,
}

/// The batch jobs of a key.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchJobs)]
pub(crate) struct JobsBody {
    /// At most `batch.max_jobs_per_key`, finished ones included.
    pub jobs: Vec<JobBody>,
}

/// Rows by what became of them.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = BatchCounts)]
pub(crate) struct RowCounts {
    found: usize,
    unresolved: usize,
    invalid: usize,
    not_scored: usize,
    inactive: usize,
    unread: usize,
}

/// The rows of a job, in the order in which they were sent.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BatchResult)]
pub(crate) struct ResultBody {
    pub job: JobBody,
    /// Each row: `input` with the own columns, then `status`, `reason`, `resolved_address`, `score`, `decile`, `range`,
    /// `coverage`, `debt_usd`, `collateral_usd`, `lowest_health_factor`, `last_liquidation_at`, `read_at`,
    /// `model_version` and `score_id`.
    #[schema(value_type = Vec<Object>)]
    pub rows: Vec<Value>,
}

impl From<&JobRecord> for JobBody {
    fn from(job: &JobRecord) -> Self {
        let (status, reason) = match &job.state {
            JobState::Queued => ("queued", None),
            JobState::Running => ("running", None),
            JobState::Paused(Pause::Owner) => ("paused", Some("owner".to_owned())),
            JobState::Paused(Pause::Units) => ("paused", Some("units_used_up".to_owned())),
            JobState::Paused(Pause::Key) => ("paused", Some("key".to_owned())),
            JobState::Done => ("done", None),
            JobState::Failed { why } => ("failed", Some(why.clone())),
        };
        let path = format!("/api/v2/score/batch/{}", job.id);
        let count = |status| job.count(status);
        Self {
            id: job.id.to_string(),
            status,
            reason,
            result_url: format!("{path}/result"),
            status_url: path,
            column: job.columns.get(job.wallets).cloned().unwrap_or_default(),
            rows: job.rows,
            counts: RowCounts {
                found: count(RowStatus::Found),
                unresolved: count(RowStatus::Unresolved),
                invalid: count(RowStatus::Invalid),
                not_scored: count(RowStatus::NotScored),
                inactive: count(RowStatus::Inactive),
                unread: count(RowStatus::Unread),
            },
            progress: job.seen() as f64 / job.rows.max(1) as f64,
            units: job.units,
            created_at: Moment(job.created_at),
            ended_at: job.ended_at.map(Moment),
            expires_at: Moment(job.expires_at),
        }
    }
}
