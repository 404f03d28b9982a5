//! The jobs of a server, as its API creates, shows, pauses and removes them.

use std::{sync::Arc, time::Duration};

use chrono::Utc;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::{
    config,
    records::{self, CHUNK, JobRecord, JobState, Pause},
    row::{RowRecord, RowStatus},
    table::{Row, Table},
};
use assay_access::Access;
use assay_domain::{ModelVersion, Time};
use assay_rollout::Rollout;
use assay_score::ScoreSource;
use assay_store::{Batch, Revision, Store, StoreError};

/// Rows outlast their job by this, so that a job whose removal stops half-way leaves none.
const MARGIN: Duration = Duration::from_secs(86_400);

/// The jobs. Cheap to clone.
#[derive(Clone)]
pub struct Jobs(pub(crate) Arc<JobsInner>);

pub(crate) struct JobsInner {
    pub store: Store,
    pub access: Access,
    pub source: Arc<dyn ScoreSource>,
    pub rollout: Rollout,
    pub settings: config::Batch,
    /// A job was created or resumed on this host.
    pub requested: Notify,
}

/// A job to create.
pub(crate) struct NewJob {
    pub owner: String,
    pub by: String,
    pub table: Table,
    pub model_version: Option<ModelVersion>,
    pub unit: u64,
    pub limit: Option<u64>,
}

/// Why a job is not created or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    #[error("This key has {0} batch jobs, as many as batch.max_jobs_per_key allows; remove one first")]
    KeyFull(u64),
    #[error("Batch job not found")]
    Unknown,
    #[error("The batch job is {0}, and cannot be {1}")]
    Ended(&'static str, &'static str),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Jobs {
    pub fn new(
        store: Store,
        access: Access,
        source: Arc<dyn ScoreSource>,
        rollout: Rollout,
        settings: config::Batch,
    ) -> Self {
        Self(Arc::new(JobsInner { store, access, source, rollout, settings, requested: Notify::new() }))
    }

    pub(crate) fn settings(&self) -> &config::Batch {
        &self.0.settings
    }

    /// # Errors
    /// [`JobError`].
    pub(crate) async fn create(&self, new: NewJob) -> Result<JobRecord, JobError> {
        let NewJob { owner, by, table: Table { columns, rows, wallets }, model_version, unit, limit } = new;
        let (id, now, keep) = (Uuid::new_v4(), Utc::now(), self.settings().keep);
        let job = JobRecord {
            id,
            owner,
            by,
            columns,
            wallets,
            rows: rows.len(),
            model_version,
            state: JobState::Queued,
            next: 0,
            counts: Default::default(),
            passes: 1,
            unit,
            limit,
            units: 0,
            reserved: 0,
            created_at: now,
            ended_at: None,
            expires_at: now + keep,
        };
        // The rows first: a job without its rows is never seen.
        for (chunk, rows) in rows.chunks(CHUNK).enumerate() {
            self.0.store.put_expiring(&records::rows(id, chunk), &rows.to_vec(), keep + MARGIN).await?;
        }
        let most = self.settings().max_jobs_per_key;
        let batch = Batch::new().take(&records::own_count(&job.owner), 1, most).put(&records::job(id), &job)?;
        if !self.0.store.commit(batch).await? {
            return Err(JobError::KeyFull(most));
        }
        self.0.requested.notify_one();
        Ok(job)
    }

    /// The job of `owner` with this id.
    ///
    /// # Errors
    /// [`JobError::Unknown`] if it has none.
    pub(crate) async fn find(&self, owner: &str, id: Uuid) -> Result<JobRecord, JobError> {
        let job = self.0.store.get(&records::job(id)).await?;
        job.filter(|job| job.owner == owner).ok_or(JobError::Unknown)
    }

    /// The jobs of `owner`, the newest first.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn of(&self, owner: &str) -> Result<Vec<JobRecord>, StoreError> {
        let all = self.0.store.list(&records::JOBS).await?;
        let mut jobs: Vec<_> = all.into_iter().map(|(_, job)| job).filter(|job| job.owner == owner).collect();
        jobs.sort_by_key(|job| std::cmp::Reverse(job.created_at));
        Ok(jobs)
    }

    /// Pauses a job, or resumes it with the units that its key may spend now. A finished job with unread rows reads
    /// them again.
    ///
    /// # Errors
    /// [`JobError`].
    pub(crate) async fn set_running(
        &self,
        owner: &str,
        id: Uuid,
        (runs, limit): (bool, Option<u64>),
    ) -> Result<JobRecord, JobError> {
        loop {
            let job = self.find(owner, id).await?;
            let mut changed = job.clone();
            match (&job.state, runs) {
                (JobState::Queued | JobState::Running, true) | (JobState::Paused(Pause::Owner), false) => {
                    return Ok(job);
                }
                (JobState::Queued | JobState::Running | JobState::Paused(_), false) => {
                    changed.state = JobState::Paused(Pause::Owner);
                }
                (JobState::Paused(_), true) => changed.state = JobState::Queued,
                (JobState::Done, true) if job.count(RowStatus::Unread) > 0 => {
                    (changed.state, changed.next, changed.ended_at) = (JobState::Queued, 0, None);
                    changed.passes += 1;
                }
                (JobState::Done, true) => return Err(JobError::Ended("done", "resumed: every row was read")),
                (JobState::Done, false) => return Err(JobError::Ended("done", "paused")),
                (JobState::Failed { .. }, _) => return Err(JobError::Ended("failed", "resumed; send the table again")),
            }
            if changed.reserved == 0 {
                changed.limit = limit;
            }
            if self.change(&job, &changed).await? {
                self.0.requested.notify_one();
                return Ok(changed);
            }
        }
    }

    /// Removes a job, with its rows. Units that were taken for rows in progress are given back.
    ///
    /// # Errors
    /// [`JobError`].
    pub(crate) async fn remove(&self, owner: &str, id: Uuid) -> Result<(), JobError> {
        loop {
            let job = self.find(owner, id).await?;
            if self.forget(&job).await? {
                return Ok(());
            }
        }
    }

    /// Removes a job unless it was changed since it was read.
    pub(crate) async fn forget(&self, job: &JobRecord) -> Result<bool, StoreError> {
        let key = records::job(job.id);
        let batch = Batch::new().if_unchanged(&key, Revision::of(&key, job)?).remove(&key);
        let batch = batch.refund(&records::own_count(&job.owner), 1);
        let batch = job.refunded(batch, job.reserved);
        if !self.0.store.commit(batch).await? {
            return Ok(false);
        }
        for chunk in 0..job.chunks() {
            let rest = Batch::new().remove(&records::rows(job.id, chunk)).remove(&records::answers(job.id, chunk));
            self.0.store.commit(rest).await?;
        }
        Ok(true)
    }

    /// Writes `changed` unless the job was changed since `job` was read.
    pub(crate) async fn change(&self, job: &JobRecord, changed: &JobRecord) -> Result<bool, StoreError> {
        let key = records::job(job.id);
        self.0.store.compare_and_swap(&key, &Revision::of(&key, job)?, changed).await
    }

    /// The rows of a chunk with their answers.
    pub(crate) async fn chunk(
        &self,
        job: &JobRecord,
        chunk: usize,
    ) -> Result<Vec<(Row, Option<RowRecord>)>, StoreError> {
        let rows = self.0.store.get(&records::rows(job.id, chunk)).await?.unwrap_or_default();
        let answers = self.0.store.get(&records::answers(job.id, chunk)).await?.unwrap_or_default();
        let answers = answers.into_iter().chain(std::iter::repeat_with(|| None));
        Ok(rows.into_iter().zip(answers).collect())
    }
}

/// The moment until which a job is kept, unless its owner removes it.
pub(crate) fn is_expired(job: &JobRecord, now: Time) -> bool {
    job.expires_at <= now
}
