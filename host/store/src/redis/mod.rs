//! The Redis backend: one server, a master found by sentinels, or a cluster. Only this folder uses redis.
//!
//! An atomic batch is one script on one node, and uses that server's clock. The script stores its outcome under the id
//! of the write, so the write can be sent again if its answer is lost. Durability depends on the server: an append-only
//! file that is flushed at every write keeps every answered write.

pub(crate) mod address;
mod gather;
mod inspect;
mod link;
mod metered;
mod naming;
mod rates;
mod refusals;
mod replicas;
mod script;
mod steps;
mod units;
mod watch;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::join_all;
use redis::{Cmd, FromRedisValue, Value, cmd};
use tokio::time::sleep;
use uuid::Uuid;

use self::{
    address::Address,
    gather::CommandGather,
    link::{CallError, Link, Waits},
    naming::KeyNaming,
    rates::Pause,
    replicas::Replicas,
    script::Scripts,
    steps::ScriptSteps,
    units::WantedUnits,
};
use crate::{
    Admission, Key, Lease, Metered, OpenError, Page, StoreError, Take,
    batch::{Batch, RecordChange},
    clock::millis,
    config,
    keys::{KeyName, LEASES, Placement},
    pauses,
};
use assay_tasks::Tracker;

/// The fault of servers that are not reached. Their addresses are not for everybody.
const AWAY: &str = "the store cannot be reached. It is tried again until it can";
/// Members of a family per page.
const PAGE: usize = 500;
/// Keys per read command.
const READ: usize = 500;

#[derive(Clone)]
pub(super) struct Redis {
    inner: Arc<RedisState>,
}

struct RedisState {
    link: Link,
    naming: KeyNaming,
    scripts: Scripts,
    pause: Pause,
    /// Units that are being taken, by counter.
    takes: CommandGather<WantedUnits, Result<Take, StoreError>>,
    /// Requests that are being counted, by rate.
    counts: CommandGather<(), Result<Admission, StoreError>>,
    /// Requests that are counted and paid for, by rate and counter.
    metered: CommandGather<u64, Option<Metered>>,
    /// Refunds of unanswered writes.
    refunds: Tracker,
    /// Present if writes wait for replicas.
    replicas: Option<Replicas>,
}

/// The outcome of a write script.
enum WriteOutcome {
    Done(u64),
    Refused(u64),
}

impl Redis {
    pub(super) async fn open(config: &config::Store) -> Result<Self, OpenError> {
        let unusable = |reason: String| OpenError::Redis { reason };
        let url = config.url.as_ref().ok_or_else(|| unusable("store.url is missing".into()))?;
        let address = Address::parse(url.expose()).map_err(|what| unusable(format!("store.url is {what}")))?;
        let waits = Waits {
            connect: config.connect_timeout,
            answer: config.answer_timeout,
            patience: config.call_timeout,
            count: config.count_timeout,
        };
        let replicas = Replicas::open(config, &address, waits).await.map_err(unusable)?;
        let link = Link::open(address, waits).await.map_err(unusable)?;
        inspect::inspect(&link).await.map_err(unusable)?;
        let (naming, scripts, pause) = (KeyNaming::new(&config.prefix), Scripts::new(), Pause::default());
        let (takes, counts, metered) = (CommandGather::default(), CommandGather::default(), CommandGather::default());
        let refunds = Tracker::new();
        let inner = Arc::new(RedisState { link, naming, scripts, pause, takes, counts, metered, refunds, replicas });
        assay_tasks::keep("store watch", Arc::downgrade(&inner), watch::watch);
        Ok(Self { inner })
    }

    pub(super) fn fault(&self) -> Option<String> {
        match self.inner.link.refusal() {
            Some(reason) => Some(unwritable(reason).to_string()),
            None => (!self.inner.link.is_up()).then(|| AWAY.to_owned()),
        }
    }

    pub(super) async fn read(&self, keys: Vec<KeyName>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut found = Vec::with_capacity(keys.len());
        for part in keys.chunks(READ) {
            let mut command = cmd("MGET");
            for key in part {
                command.arg(self.inner.naming.of(key));
            }
            let answer = self.inner.link.call(&command, self.patience()).await.map_err(unread)?;
            found.append(&mut parse::<Vec<Option<Vec<u8>>>>(answer)?);
        }
        Ok(found)
    }

    /// Not a snapshot if the family is longer than a page.
    pub(super) async fn scan(&self, prefix: String) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let mut page = self.page(prefix.clone(), after, PAGE).await?;
            found.append(&mut page.records);
            after = page.next;
            if after.is_none() {
                return Ok(found);
            }
        }
    }

    pub(super) async fn page(
        &self,
        prefix: String,
        after: Option<String>,
        most: usize,
    ) -> Result<Page<Vec<u8>>, StoreError> {
        let mut page = Page { records: Vec::new(), next: after };
        loop {
            let part = self.part(&prefix, page.next.as_deref(), most - page.records.len()).await?;
            page.records.extend(part.records);
            page.next = part.next;
            if page.records.len() >= most || page.next.is_none() {
                return Ok(page);
            }
        }
    }

    /// Like [`page`](Self::page), but returns fewer records if many have expired, and the key to continue after.
    async fn part(&self, prefix: &str, after: Option<&str>, most: usize) -> Result<Page<Vec<u8>>, StoreError> {
        let (index, name) = ([self.inner.naming.index()], self.inner.naming.together(""));
        // No byte of UTF-8 is 0xff.
        let end = [b"(", prefix.as_bytes(), b"\xff"].concat();
        let begin = after.map_or_else(|| format!("[{prefix}"), |after| format!("({after}"));
        let answer = self.inner.scripts.list.run(&self.inner.link, self.patience(), &index, |command| {
            command.arg(&begin).arg(&end).arg(most).arg(&name).arg(PAGE);
        });
        let mut page = parse::<Vec<Vec<u8>>>(answer.await.map_err(unread)?)?.into_iter();
        let text = |bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| failed("the index of families holds what is no text"))
        };
        let last = text(page.next().unwrap_or_default())?;
        let mut records = Vec::new();
        while let (Some(key), Some(record)) = (page.next(), page.next()) {
            records.push((text(key)?, record));
        }
        Ok(Page { records, next: Some(last).filter(|last| !last.is_empty()) })
    }

    pub(super) async fn commit(&self, batch: Batch) -> Result<bool, StoreError> {
        let is_spread = |key: &&KeyName| key.placement == Placement::Spread;
        if !batch.keys().any(|key| is_spread(&key)) {
            let mut steps = ScriptSteps::new(&self.inner.naming);
            batch.conditions.iter().for_each(|condition| steps.condition(condition));
            batch.changes.iter().for_each(|change| steps.change(change));
            return Ok(matches!(
                self.started(move |this| async move { this.write(steps).await }).await?,
                WriteOutcome::Done(_)
            ));
        }
        // The keys of conditions come first.
        if let Some(key) = batch.keys().find(|key| !batch.conditions.is_empty() || !is_spread(key)) {
            let reason = "it stands in a batch with records that are kept apart".to_owned();
            return Err(StoreError::Unstorable { key: key.text.clone(), reason });
        }
        self.started(move |this| async move { this.write_apart(batch.changes).await }).await.map(|()| true)
    }

    pub(super) async fn refund(&self, key: &Key<u64>, amount: u64) -> Result<(), StoreError> {
        let mut steps = ScriptSteps::new(&self.inner.naming);
        steps.change(&RecordChange::Refund { key: key.clone(), amount });
        self.started(move |this| async move {
            let until = Instant::now() + pauses::REFUND_TIMEOUT;
            loop {
                match this.write_for(&steps, pauses::REFUND_TIMEOUT).await {
                    Err(StoreError::Unwritable { .. }) if Instant::now() < until => sleep(pauses::REFUND_RETRY).await,
                    refunded => return refunded.map(drop),
                }
            }
        })
        .await
    }

    pub(super) async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        let mut steps = ScriptSteps::new(&self.inner.naming);
        steps.acquire(LEASES.key(name).name(), holder, millis(ttl));
        let acquired = self.started(move |this| async move { this.write(steps).await }).await?;
        Ok(match acquired {
            WriteOutcome::Done(token) => Some(Lease { name: name.to_owned(), token }),
            WriteOutcome::Refused(_) => None,
        })
    }

    /// Extends to `ttl` from now, or ends the lease without a `ttl`; `false` if it has already ended.
    pub(super) async fn renew(&self, lease: &Lease, ttl: Option<Duration>) -> Result<bool, StoreError> {
        let mut steps = ScriptSteps::new(&self.inner.naming);
        steps.renew(lease.key().name(), lease.token, ttl.map(millis));
        Ok(matches!(self.started(move |this| async move { this.write(steps).await }).await?, WriteOutcome::Done(_)))
    }

    fn patience(&self) -> Duration {
        self.inner.link.waits().patience
    }

    /// A write continues even if its caller stops waiting for it.
    async fn started<R, F>(&self, work: impl FnOnce(Self) -> F) -> Result<R, StoreError>
    where
        R: Send + 'static,
        F: Future<Output = Result<R, StoreError>> + Send + 'static,
    {
        assay_tasks::spawn("store write", work(self.clone())).await.unwrap_or_else(|panic| Err(failed(panic)))
    }

    async fn write(&self, steps: ScriptSteps) -> Result<WriteOutcome, StoreError> {
        let patience = self.patience();
        self.write_for(&steps, patience).await
    }

    async fn write_for(&self, steps: &ScriptSteps, patience: Duration) -> Result<WriteOutcome, StoreError> {
        self.write_counted(steps, patience).await.map(|(outcome, _)| outcome)
    }

    /// The outcome of the write, and that of the requests that it counts.
    async fn write_counted(
        &self,
        steps: &ScriptSteps,
        patience: Duration,
    ) -> Result<(WriteOutcome, String), StoreError> {
        let started = Instant::now();
        let answer = self.replicated(steps, patience).await?;
        metrics::histogram!("assay_store_commit_seconds").record(started.elapsed());
        let (outcome, number, rate) = parse::<(String, String, String)>(answer)?;
        let count = if number.is_empty() { 0 } else { number.parse().map_err(failed)? };
        match outcome.as_str() {
            "done" => Ok((WriteOutcome::Done(count), rate)),
            "refused" => Ok((WriteOutcome::Refused(count), rate)),
            _ => Err(StoreError::Damaged { key: steps.key(count), reason: "it is not what is kept there".to_owned() }),
        }
    }

    /// The answer to a write that the required replicas have. A write that was lost with its master is sent again to
    /// the next one.
    async fn replicated(&self, steps: &ScriptSteps, patience: Duration) -> Result<Value, StoreError> {
        let (script, keys, until) = (&self.inner.scripts.write, steps.names(), Instant::now() + patience);
        let mark = self.inner.naming.together("mark");
        loop {
            let answer = script
                .run(&self.inner.link, patience, &keys, |command| steps.arguments(pauses::COMMIT_REMEMBERED, command))
                .await
                .map_err(unwritten)?;
            let (Some(replicas), Some(outcome)) = (&self.inner.replicas, keys.first()) else { return Ok(answer) };
            let reason = match replicas.have(&mark, outcome).await {
                Ok(true) => return Ok(answer),
                Ok(false) => "the write was lost with the master".to_owned(),
                Err(error) => unread(error).to_string(),
            };
            if Instant::now() >= until {
                return Err(StoreError::Unanswered { reason });
            }
        }
    }

    /// Writes each record separately, not atomically.
    async fn write_apart(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        let commands = changes.into_iter().filter_map(|change| {
            let mut command = Cmd::new();
            let key = match &change {
                RecordChange::Put { key, .. } | RecordChange::Remove { key } => self.inner.naming.of(key),
                RecordChange::Add { .. } | RecordChange::Refund { .. } => return None,
            };
            match change {
                RecordChange::Put { value, ttl, .. } => {
                    command.arg("SET").arg(&key).arg(value);
                    if let Some(ttl) = ttl {
                        command.arg("PX").arg(steps::life(ttl));
                    }
                }
                _ => _ = command.arg("DEL").arg(&key),
            }
            Some((key, command))
        });
        let written = join_all(commands.map(|(key, command)| async move {
            let written = self.inner.link.call(&command, self.patience()).await;
            if let Err(CallError::Refused(_)) = &written {
                self.inner.link.refusals().is_of(&key);
            }
            written
        }))
        .await;
        written.into_iter().try_for_each(|written| written.map(drop).map_err(unwritten))
    }

    /// Waits until the refunds of unanswered writes have ended, each by its timeout.
    pub(super) async fn settle(&self) {
        self.inner.refunds.close();
        self.inner.refunds.wait().await;
    }

    /// Refunds, in the background, the units that an unanswered write may have taken.
    fn undo(&self, id: Uuid, counter: String, amount: u64) {
        let this = self.clone();
        self.inner.refunds.spawn("store refund", async move {
            let keys = [this.inner.naming.write(&id.simple().to_string()), counter];
            let undone = this.inner.scripts.undo.run(&this.inner.link, pauses::REFUND_TIMEOUT, &keys, |command| {
                command.arg(steps::life(pauses::COMMIT_REMEMBERED)).arg(amount);
            });
            if let Err(error) = undone.await {
                tracing::error!(error = %unwritten(error), amount, "units of an unanswered write were not refunded");
            }
        });
    }
}

fn parse<T: FromRedisValue>(answer: Value) -> Result<T, StoreError> {
    T::from_redis_value(answer).map_err(failed)
}

fn unread(error: CallError) -> StoreError {
    let outcome = match &error {
        CallError::Away(_) => "away",
        CallError::Unanswered(_) => "unanswered",
        CallError::Refused(_) | CallError::Fault(_) | CallError::NoScript => "refused",
    };
    metrics::counter!("assay_store_failures_total", "outcome" => outcome).increment(1);
    match error {
        CallError::Away(reason) | CallError::Unanswered(reason) | CallError::Refused(reason) => {
            StoreError::Away { reason }
        }
        CallError::Fault(reason) => failed(reason),
        CallError::NoScript => failed("the server forgets scripts at once"),
    }
}

/// The outcome of a sent write is unknown; a refused one changed nothing.
fn unwritten(error: CallError) -> StoreError {
    match (&error, unread(error.clone())) {
        (CallError::Unanswered(_), StoreError::Away { reason }) => StoreError::Unanswered { reason },
        (CallError::Refused(_), StoreError::Away { reason }) => unwritable(reason),
        (_, error) => error,
    }
}

fn unwritable(reason: String) -> StoreError {
    StoreError::Unwritable { reason }
}

fn failed(reason: impl std::fmt::Display) -> StoreError {
    StoreError::Failed { reason: reason.to_string() }
}
