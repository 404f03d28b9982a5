//! The host that reads all jobs, by a lease of the store: one chunk of rows at a time, of each job in turn.
//!
//! The units of a chunk are taken and noted in the job before its rows are read; what was not read is given back in the
//! write that stores the answers. A host that dies between the two leaves the note, and its successor takes nothing
//! again.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    convert::Infallible,
    ops::Bound,
    time::Duration,
};

use chrono::Utc;
use uuid::Uuid;

use crate::{
    jobs::{Jobs, is_expired},
    records::{self, JOBS, JobRecord, JobState, Pause},
    row::{RowRecord, RowStatus},
};
use assay_access::{Lapse, PriceClass, records::units};
use assay_domain::{Address, Subject};
use assay_score::Ask;
use assay_store::{Batch, Lease, Lost, Revision, StoreError};
use assay_tasks::Spawner;

/// Lifetime of the lease: how long another host waits after this one has died.
const LEASE: Duration = Duration::from_secs(8);
/// Wait while another host has the lease, and after a failure of the store.
const RETRY: Duration = Duration::from_secs(1);
/// Pause between two looks at the jobs when there is nothing to do.
const PACE: Duration = Duration::from_secs(1);
/// Passes over the rows by itself: what is unread after the first is read once more.
const PASSES: u32 = 2;

/// What was read for a job: the answers by subject, as it is written, and the wallets that were paid for.
#[derive(Default)]
struct Seen {
    by_subject: HashMap<String, RowRecord>,
    paid: HashSet<Address>,
}

/// A subject to read, with the rows that name it.
struct Asked {
    subject: Subject,
    rows: Vec<usize>,
}

/// A chunk of a job, with its answers so far.
struct Chunk {
    answers: Vec<Option<RowRecord>>,
    asked: Vec<Asked>,
}

impl Jobs {
    /// Starts the task that reads while this host holds the lease.
    pub fn start(&self, tasks: &Spawner) {
        tasks.keep("batches", self.clone(), |this, stopping| async move {
            let work = this.0.store.lead("batches", LEASE, RETRY, "batch jobs", |lease| {
                let this = this.clone();
                async move {
                    match this.work(&lease).await {
                        Ok(never) => match never {},
                        Err(error) => Lost::from(error),
                    }
                }
            });
            stopping.run_until_cancelled(work).await;
        });
    }

    async fn work(&self, lease: &Lease) -> Result<Infallible, StoreError> {
        let (mut last, mut seen) = (Uuid::nil(), HashMap::<Uuid, Seen>::new());
        loop {
            let (now, mut active) = (Utc::now(), BTreeMap::new());
            for (_, job) in self.0.store.list(&JOBS).await? {
                if is_expired(&job, now) {
                    self.forget(&job).await?;
                } else if job.is_active() {
                    active.insert(job.id, job);
                }
            }
            metrics::gauge!("assay_batch_jobs_active").set(active.len() as f64);
            seen.retain(|id, _| active.contains_key(id));
            let after = active.range((Bound::Excluded(last), Bound::Unbounded)).next();
            let Some((id, job)) = after.or_else(|| active.first_key_value()) else {
                tokio::select! {
                    () = self.0.requested.notified() => {}
                    () = tokio::time::sleep(PACE) => {}
                }
                continue;
            };
            last = *id;
            if !seen.contains_key(id) {
                seen.insert(*id, self.seen(job).await?);
            }
            let Some(seen_of_job) = seen.get_mut(id) else { continue };
            if !self.step(lease, job, seen_of_job).await? {
                // The owner changed the job meanwhile, or this host has lost the lease. What was found is not stored,
                // so it is not known.
                seen.remove(id);
                tokio::time::sleep(PACE / 10).await;
            }
        }
    }

    /// What earlier steps found, so that a repeated row is neither read nor paid again.
    async fn seen(&self, job: &JobRecord) -> Result<Seen, StoreError> {
        let mut seen = Seen::default();
        for chunk in 0..job.chunks() {
            for (row, answer) in self.chunk(job, chunk).await? {
                if let (Some(answer), Ok(subject)) = (answer, Subject::parse(row.text(job.wallets))) {
                    seen.add(&subject, &answer);
                }
            }
        }
        Ok(seen)
    }

    /// Reads the next rows of a job; false if the job was changed meanwhile.
    async fn step(&self, lease: &Lease, job: &JobRecord, seen: &mut Seen) -> Result<bool, StoreError> {
        if let Some(lapse) = self.0.access.lapse(&job.owner, PriceClass::Score).await? {
            let state = match lapse {
                Lapse::Revoked => JobState::Failed { why: "the key was revoked".into() },
                Lapse::NotConfigured | Lapse::Scope(_) => JobState::Paused(Pause::Key),
            };
            return self.turn(lease, job, state).await;
        }
        if job.next >= job.chunks() {
            return self.end_pass(lease, job).await;
        }
        let mut chunk = self.pending(job, seen).await?;
        let Some(job) = self.reserve(lease, job, chunk.asked.len()).await? else { return Ok(false) };
        if !matches!(job.state, JobState::Running) {
            return Ok(true);
        }
        if job.limit.is_some() && job.unit > 0 {
            chunk.asked.truncate(job.reserved);
        }
        let subjects = chunk.asked.iter().map(|asked| asked.subject.clone()).collect();
        let ask = Ask { version: job.model_version.as_ref(), ..Ask::by(&job.by, false) };
        let answered = self.0.source.each(subjects, ask).await;
        let mut paid = 0;
        for (asked, answer) in std::mem::take(&mut chunk.asked).into_iter().zip(answered) {
            let id = |scored: &_| self.0.rollout.score_id(scored, &job.owner).map(|id| id.to_string());
            let mut answer = RowRecord { pass: job.passes, ..RowRecord::of(answer, id) };
            let is_new = answer.address.is_none_or(|address| !seen.paid.contains(&address));
            answer.is_paid = answer.status.is_read() && is_new;
            paid += usize::from(answer.is_paid);
            seen.add(&asked.subject, &answer);
            chunk.fill(&asked.rows, &answer);
        }
        self.settle(lease, &job, chunk.answers, paid).await
    }

    /// The rows of the next chunk that have to be read. Those that are no wallet, and those that were read before, have
    /// their answers already.
    async fn pending(&self, job: &JobRecord, seen: &Seen) -> Result<Chunk, StoreError> {
        let rows = self.chunk(job, job.next).await?;
        let mut chunk = Chunk { answers: Vec::with_capacity(rows.len()), asked: Vec::new() };
        let mut places = HashMap::<String, usize>::new();
        for (at, (row, answer)) in rows.into_iter().enumerate() {
            let is_open = answer.as_ref().is_none_or(|one| one.status == RowStatus::Unread && one.pass < job.passes);
            chunk.answers.push(answer);
            if !is_open {
                continue;
            }
            let text = row.text(job.wallets);
            let Ok(subject) = Subject::parse(text) else {
                chunk.fill(&[at], &RowRecord { pass: job.passes, ..RowRecord::invalid(text) });
                continue;
            };
            let name = subject.to_string();
            match seen.by_subject.get(&name) {
                Some(known) if known.status != RowStatus::Unread || known.pass == job.passes => {
                    chunk.fill(&[at], known);
                }
                _ => match places.get(&name).and_then(|place| chunk.asked.get_mut(*place)) {
                    Some(asked) => asked.rows.push(at),
                    None => {
                        places.insert(name, chunk.asked.len());
                        chunk.asked.push(Asked { subject, rows: vec![at] });
                    }
                },
            }
        }
        Ok(chunk)
    }

    /// Takes the units of `rows` rows, or of as many as are left, and notes them in the job; `None` if the job was
    /// changed meanwhile. Without units left the job is paused.
    async fn reserve(&self, lease: &Lease, job: &JobRecord, rows: usize) -> Result<Option<JobRecord>, StoreError> {
        let mut taken = JobRecord { state: JobState::Running, ..job.clone() };
        let key = records::job(job.id);
        let batch = || -> Result<Batch, StoreError> {
            Ok(Batch::new().if_leased(lease).if_unchanged(&key, Revision::of(&key, job)?))
        };
        let Some(limit) = job.limit.filter(|_| job.reserved == 0 && job.cost(rows) > 0) else {
            let is_noted = *job == taken || self.0.store.commit(batch()?.put(&key, &taken)?).await?;
            return Ok(is_noted.then_some(taken));
        };
        let meter = units(&job.owner);
        let used = self.0.store.get(&meter).await?.unwrap_or_default();
        let affordable = usize::try_from(limit.saturating_sub(used) / job.unit.max(1)).unwrap_or(usize::MAX);
        taken.reserved = rows.min(affordable);
        if taken.reserved == 0 {
            taken.state = JobState::Paused(Pause::Units);
        }
        let batch = batch()?.put(&key, &taken)?;
        let batch = if taken.reserved > 0 { batch.take(&meter, job.cost(taken.reserved), limit) } else { batch };
        Ok(self.0.store.commit(batch).await?.then_some(taken))
    }

    /// Stores the answers, and gives back the units of rows that were not read. What the owner changed meanwhile stays.
    async fn settle(
        &self,
        lease: &Lease,
        job: &JobRecord,
        answers: Vec<Option<RowRecord>>,
        paid: usize,
    ) -> Result<bool, StoreError> {
        let (key, place) = (records::job(job.id), records::answers(job.id, job.next));
        let before = self.0.store.get(&place).await?.unwrap_or_default();
        let is_whole = answers
            .iter()
            .all(|answer| answer.as_ref().is_some_and(|one| one.status != RowStatus::Unread || one.pass >= job.passes));
        let ttl = self.settings().keep + Duration::from_secs(86_400);
        // Only its owner can change the job meanwhile, a few times.
        for _ in 0..100 {
            let Some(now) = self.0.store.get(&key).await? else { return Ok(true) };
            let mut changed = now.clone();
            for answer in before.iter().flatten() {
                if let Some(count) = changed.counts.get_mut(&answer.status) {
                    *count = count.saturating_sub(1);
                }
            }
            for answer in answers.iter().flatten() {
                *changed.counts.entry(answer.status).or_default() += 1;
            }
            changed.units = changed.units.saturating_add(job.cost(paid));
            changed.reserved = 0;
            changed.next += usize::from(is_whole);
            let batch = Batch::new().if_leased(lease).if_unchanged(&key, Revision::of(&key, &now)?);
            let batch = batch.put(&key, &changed)?.put_expiring(&place, &answers, ttl)?;
            if self.0.store.commit(job.refunded(batch, job.reserved.saturating_sub(paid))).await? {
                metrics::counter!("assay_batch_rows_total").increment(answers.iter().flatten().count() as u64);
                return Ok(true);
            }
            if self.0.store.get(&key).await?.as_ref() == Some(&now) {
                // The lease is lost.
                return Ok(false);
            }
        }
        Ok(false)
    }

    async fn end_pass(&self, lease: &Lease, job: &JobRecord) -> Result<bool, StoreError> {
        let mut changed = job.clone();
        if job.passes < PASSES && job.count(RowStatus::Unread) > 0 {
            (changed.passes, changed.next) = (job.passes + 1, 0);
        } else {
            (changed.state, changed.ended_at) = (JobState::Done, Some(Utc::now()));
            tracing::info!(by = job.by, job = %job.id, rows = job.rows, units = job.units, "batch job done");
        }
        self.leased(lease, job, &changed).await
    }

    /// Ends or pauses a job; units that were taken for rows in progress are given back.
    async fn turn(&self, lease: &Lease, job: &JobRecord, state: JobState) -> Result<bool, StoreError> {
        let ended_at = matches!(state, JobState::Failed { .. }).then(Utc::now);
        tracing::warn!(by = job.by, job = %job.id, ?state, "batch job stopped");
        let changed = JobRecord { state, ended_at, reserved: 0, ..job.clone() };
        self.leased(lease, job, &changed).await
    }

    async fn leased(&self, lease: &Lease, job: &JobRecord, changed: &JobRecord) -> Result<bool, StoreError> {
        let key = records::job(job.id);
        let batch = Batch::new().if_leased(lease).if_unchanged(&key, Revision::of(&key, job)?).put(&key, changed)?;
        self.0.store.commit(job.refunded(batch, job.reserved.saturating_sub(changed.reserved))).await
    }
}

impl Seen {
    fn add(&mut self, subject: &Subject, answer: &RowRecord) {
        let repeated = RowRecord { is_paid: false, ..answer.clone() };
        if let Some(address) = answer.address.filter(|_| answer.status.is_read()) {
            self.paid.insert(address);
            self.by_subject.entry(Subject::Address(address).to_string()).or_insert_with(|| repeated.clone());
        }
        self.by_subject.insert(subject.to_string(), repeated);
    }
}

impl Chunk {
    /// Sets the answer of rows; only the first of them is paid.
    fn fill(&mut self, rows: &[usize], answer: &RowRecord) {
        for (nth, row) in rows.iter().enumerate() {
            if let Some(place) = self.answers.get_mut(*row) {
                *place = Some(RowRecord { is_paid: answer.is_paid && nth == 0, ..answer.clone() });
            }
        }
    }
}
