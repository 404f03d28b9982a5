//! The embedded backend: one redb file, read concurrently and written by one thread. Only this folder uses redb.

mod acknowledged;
pub(super) mod backup;
#[cfg(test)]
mod damage;
mod examine;
mod held;
mod open;
mod overlay;
mod writer;

use std::{ops::Bound, path::PathBuf, sync::Arc, time::Duration};

use redb::{Database, ReadableDatabase, TableDefinition};

use self::{
    acknowledged::Acknowledged,
    held::HeldDatabase,
    writer::{StoreWriter, WrittenRecords},
};
use crate::{
    BackupError, Copied, Key, Lease, OpenError, Page, StoreError, Take,
    batch::{Batch, RecordChange, WriteCondition},
    clock::{StoreClock, millis},
    decode, encode,
    keys::{KeyName, LEASES, LeaseRecord},
};

const META: TableDefinition<'static, &str, u64> = TableDefinition::new("meta");
/// Key to (expiry in Unix milliseconds or 0, JSON).
const RECORDS: TableDefinition<'static, &str, (u64, &[u8])> = TableDefinition::new("records");
/// (Expiry in Unix milliseconds, key), ordered by expiry.
const EXPIRY: TableDefinition<'static, (u64, &str), ()> = TableDefinition::new("expiry");
/// The key of the format in the meta table, and the current format.
const FORMAT: (&str, u64) = ("format", 1);
/// The fault of a file that accepts no writes. Its path is not for everybody.
const FAULT: &str = "the store cannot be written: check the disk and its space. It is tried again until it can";
/// The size of the page cache, in bytes.
const CACHE_BYTES: usize = 64 << 20;

#[derive(Clone)]
pub(super) struct Embedded {
    held: Arc<HeldDatabase>,
    writer: Arc<StoreWriter>,
    clock: StoreClock,
}

impl Embedded {
    pub(super) async fn open(path: PathBuf, clock: StoreClock) -> Result<Self, OpenError> {
        let named = path.clone();
        let unusable = |reason: String| OpenError::Unusable { path: named.clone(), reason };
        let database = match tokio::task::spawn_blocking(move || open::open(&path)).await {
            Ok(opened) => opened?,
            Err(panic) => return Err(OpenError::Damaged { path: named.clone(), reason: panic.to_string() }),
        };
        let held = Arc::new(HeldDatabase::new(named.clone(), database));
        let acknowledged = Acknowledged::open(&named);
        let writer = StoreWriter::start(held.clone(), acknowledged, clock.clone());
        let writer = Arc::new(writer.map_err(|error| unusable(error.to_string()))?);
        let this = Self { held, writer, clock };
        this.end_leases().await.map_err(|error| unusable(error.to_string()))?;
        Ok(this)
    }

    /// Ends every lease: only one process at a time opens the file, so no holder is left.
    async fn end_leases(&self) -> Result<(), StoreError> {
        let held = self.scan(LEASES.prefix().to_owned()).await?;
        let mut ended = Vec::with_capacity(held.len());
        for (key, bytes) in held {
            let record: LeaseRecord = decode(&key, &bytes)?;
            if record.until > 0 {
                let lease = LEASES.key(key.strip_prefix(LEASES.prefix()).unwrap_or(&key));
                ended.push((key, encode(&lease, &LeaseRecord { until: 0, ..record })?));
            }
        }
        if ended.is_empty() {
            return Ok(());
        }
        self.writer.write(move |records| ended.iter().try_for_each(|(key, value)| records.put(key, value, None))).await
    }

    pub(super) async fn back_up(&self, to: PathBuf) -> Result<Copied, BackupError> {
        let held = self.held.clone();
        let named = to.clone();
        let copied = tokio::task::spawn_blocking(move || held.lend(|database| backup::copy(database, &to))).await;
        copied.unwrap_or_else(|panic| Err(BackupError::Failed { path: named, reason: panic.to_string() }))
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.held.is_failing().then(|| FAULT.to_owned())
    }

    pub(super) async fn read(&self, keys: Vec<KeyName>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.reading(move |database, now| {
            let records = database.begin_read()?.open_table(RECORDS)?;
            keys.iter()
                .map(|key| {
                    let found = records.get(key.text.as_str())?;
                    Ok(found.and_then(|found| unexpired(found.value(), now)))
                })
                .collect()
        })
        .await
    }

    pub(super) async fn scan(&self, prefix: String) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        self.page(prefix, None, usize::MAX).await.map(|page| page.records)
    }

    pub(super) async fn page(
        &self,
        prefix: String,
        after: Option<String>,
        most: usize,
    ) -> Result<Page<Vec<u8>>, StoreError> {
        self.reading(move |database, now| {
            let table = database.begin_read()?.open_table(RECORDS)?;
            let begin = after.as_deref().map_or(Bound::Included(prefix.as_str()), Bound::Excluded);
            let mut records = Vec::new();
            for entry in table.range::<&str>((begin, Bound::Unbounded))? {
                let (key, value) = entry?;
                if !key.value().starts_with(&prefix) {
                    break;
                }
                records.extend(unexpired(value.value(), now).map(|bytes| (key.value().to_owned(), bytes)));
                if records.len() >= most {
                    return Ok(Page { records, next: Some(key.value().to_owned()) });
                }
            }
            Ok(Page { records, next: None })
        })
        .await
    }

    pub(super) async fn commit(&self, batch: Batch) -> Result<bool, StoreError> {
        self.writer
            .write(move |records| {
                for condition in &batch.conditions {
                    if !holds(records, condition)? {
                        return Ok(false);
                    }
                }
                // Checked before any change, because a damaged counter must not leave half a batch.
                for change in &batch.changes {
                    if let RecordChange::Add { key, .. } | RecordChange::Refund { key, .. } = change {
                        counter(records, key)?;
                    }
                }
                for change in batch.changes {
                    match change {
                        RecordChange::Put { key, value, ttl } => records.put(&key.text, &value, ttl)?,
                        RecordChange::Remove { key } => records.remove(&key.text)?,
                        RecordChange::Add { key, amount } => {
                            let used = counter(records, &key)?.saturating_add(amount);
                            records.put(key.as_str(), &encode(&key, &used)?, None)?;
                        }
                        RecordChange::Refund { key, amount } => {
                            let left = counter(records, &key)?.saturating_sub(amount);
                            records.put(key.as_str(), &encode(&key, &left)?, None)?;
                        }
                    }
                }
                Ok(true)
            })
            .await
    }

    pub(super) async fn take(&self, key: &Key<u64>, amount: u64, limit: u64) -> Result<Take, StoreError> {
        let key = key.clone();
        self.writer
            .write(move |records| {
                let used = counter(records, &key)?;
                match used.checked_add(amount).filter(|sum| *sum <= limit) {
                    None => Ok(Take::Exhausted { used }),
                    Some(used) => records.put(key.as_str(), &encode(&key, &used)?, None).map(|()| Take::Taken { used }),
                }
            })
            .await
    }

    pub(super) async fn refund(&self, key: &Key<u64>, amount: u64) -> Result<(), StoreError> {
        let key = key.clone();
        self.writer
            .write(move |records| {
                let left = counter(records, &key)?.saturating_sub(amount);
                records.put(key.as_str(), &encode(&key, &left)?, None)
            })
            .await
    }

    pub(super) async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        self.writer
            .write(move |records| {
                let key = LEASES.key(&name);
                let last = lease_record(records, key.as_str())?;
                if last.until > records.now() {
                    return Ok(None);
                }
                let token = last.token.saturating_add(1);
                let until = records.now().saturating_add(millis(ttl));
                records.put(key.as_str(), &encode(&key, &LeaseRecord { holder, token, until })?, None)?;
                Ok(Some(Lease { name, token }))
            })
            .await
    }

    /// Extends the lease to `ttl` from now, or ends it without a `ttl`; `false` if it has already ended.
    pub(super) async fn renew(&self, lease: &Lease, ttl: Option<Duration>) -> Result<bool, StoreError> {
        let (key, token) = (lease.key(), lease.token);
        self.writer
            .write(move |records| {
                let held = lease_record(records, key.as_str())?;
                if held.token != token || held.until <= records.now() {
                    return Ok(false);
                }
                let until = ttl.map_or(0, |ttl| records.now().saturating_add(millis(ttl)));
                records.put(key.as_str(), &encode(&key, &LeaseRecord { until, ..held })?, None)?;
                Ok(true)
            })
            .await
    }

    async fn reading<R: Send + 'static>(
        &self,
        read: impl Fn(&Database, u64) -> Result<R, redb::Error> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (held, clock) = (self.held.clone(), self.clock.clone());
        let found = tokio::task::spawn_blocking(move || held.read(|database| read(database, clock.now())))
            .await
            .unwrap_or_else(|panic| Err(failed(panic)));
        if self.held.is_failing() {
            self.writer.wake();
        }
        found
    }
}

fn holds(records: &WrittenRecords<'_>, condition: &WriteCondition) -> Result<bool, StoreError> {
    match condition {
        WriteCondition::Unchanged { key, seen } => Ok(records.get(&key.text)? == seen.0),
        WriteCondition::Leased { key, token } => Ok(lease_record(records, &key.text)?.token == *token),
        WriteCondition::Left { key, amount, limit } => {
            Ok(counter(records, key)?.checked_add(*amount).is_some_and(|sum| sum <= *limit))
        }
    }
}

fn counter(records: &WrittenRecords<'_>, key: &Key<u64>) -> Result<u64, StoreError> {
    records.get(key.as_str())?.map_or(Ok(0), |bytes| decode(key.as_str(), &bytes))
}

fn lease_record(records: &WrittenRecords<'_>, key: &str) -> Result<LeaseRecord, StoreError> {
    records.get(key)?.map_or_else(|| Ok(LeaseRecord::default()), |bytes| decode(key, &bytes))
}

/// The bytes of a record that has not expired.
fn unexpired((until, bytes): (u64, &[u8]), now: u64) -> Option<Vec<u8>> {
    (until == 0 || until > now).then(|| bytes.to_owned())
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed { reason: error.to_string() }
}
