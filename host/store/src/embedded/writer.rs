//! The writer thread. All waiting writes share one transaction, because every commit needs a flush to disk. Each write
//! is answered after the commit.

use std::{
    cell::Cell,
    io,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use redb::{Database, ReadableTable, StorageError, Table};
use tokio::sync::{mpsc, oneshot};

use super::{
    EXPIRY, RECORDS,
    acknowledged::{Acknowledged, Write},
    failed,
    held::HeldDatabase,
    unexpired,
};
use crate::{
    StoreError,
    clock::{StoreClock, millis},
};

/// Maximum number of writes per transaction, and in the queue.
const BATCH: usize = 512;
/// Maximum number of expired records that one transaction removes.
const SWEEP: usize = 128;
/// How often the writer looks for work while the file accepts no writes.
const LOOK: Duration = Duration::from_millis(20);
/// Sorts after every key.
const END_OF_KEYS: &str = "\u{10ffff}";

/// Works in the transaction, or receives its error, and returns a function that answers.
type WriteTask = Box<dyn FnOnce(Result<&mut WrittenRecords<'_>, StoreError>) -> WriteAnswer + Send>;
/// Sends the answer after the commit.
type WriteAnswer = Box<dyn FnOnce(Result<(), StoreError>)>;

pub(super) struct StoreWriter {
    /// `None` only while dropping.
    jobs: Option<mpsc::Sender<WriteTask>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl StoreWriter {
    pub(super) fn start(held: Arc<HeldDatabase>, acknowledged: Acknowledged, clock: StoreClock) -> io::Result<Self> {
        let (jobs, mut waiting) = mpsc::channel::<WriteTask>(BATCH);
        let thread = thread::Builder::new().name("store".into()).spawn(move || {
            while let Some(first) = next(&held, &mut waiting) {
                let mut batch = vec![first];
                while batch.len() < BATCH
                    && let Ok(job) = waiting.try_recv()
                {
                    batch.push(job);
                }
                run(&held, &acknowledged, &clock, batch);
            }
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Makes the writer check whether the file accepts writes again, even if no write is waiting.
    pub(super) fn wake(&self) {
        if let Some(jobs) = &self.jobs {
            // A full queue also wakes the writer.
            let _ = jobs.try_send(Box::new(|_| Box::new(|_| {})));
        }
    }

    pub(super) async fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&mut WrittenRecords<'_>) -> Result<R, StoreError> + Send + 'static,
    ) -> Result<R, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job: WriteTask = Box::new(move |records| {
            let outcome = records.and_then(work);
            Box::new(move |committed| {
                // The caller may have stopped waiting.
                let _ = reply.send(committed.and(outcome));
            })
        });
        let jobs = self.jobs.as_ref().ok_or(StoreError::Stopped)?;
        jobs.send(job).await.map_err(|_| StoreError::Stopped)?;
        answer.await.map_err(|_| StoreError::Stopped)?
    }
}

impl Drop for StoreWriter {
    /// Waits for the started writes. The file is closed after the drop.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the store's writer had panicked");
        }
    }
}

/// The next job; `None` after the last one. While waiting, retries a file that accepts no writes.
fn next(held: &HeldDatabase, waiting: &mut mpsc::Receiver<WriteTask>) -> Option<WriteTask> {
    while held.is_failing() {
        match waiting.try_recv() {
            Ok(job) => return Some(job),
            Err(mpsc::error::TryRecvError::Disconnected) => return None,
            Err(mpsc::error::TryRecvError::Empty) => {
                thread::sleep(LOOK);
                held.resume();
            }
        }
    }
    waiting.blocking_recv()
}

fn run(held: &HeldDatabase, acknowledged: &Acknowledged, clock: &StoreClock, batch: Vec<WriteTask>) {
    metrics::histogram!("assay_store_batch_writes").record(batch.len() as f64);
    held.resume();
    let mut waiting = batch.into_iter();
    let mut answers = Vec::with_capacity(waiting.len());
    let committing = Cell::new(false);
    let outcome = held
        .write(|database| transact(database, clock.now(), &mut waiting, &mut answers, &committing))
        .map_err(|error| {
            match error {
                // Whether the file has the write is known only after it is reopened.
                StoreError::Unwritable { reason } if committing.get() => StoreError::Unanswered { reason },
                error => error,
            }
        });
    let outcome = match outcome {
        Ok(write) => {
            if let Some(write) = write {
                acknowledged.note(write);
            }
            Ok(())
        }
        Err(error) => {
            answers.extend(waiting.map(|job| job(Err(error.clone()))));
            Err(error)
        }
    };
    for answer in answers {
        answer(outcome.clone());
    }
}

/// Returns the committed write; `None` if nothing changed.
fn transact(
    database: &Database,
    now: u64,
    waiting: &mut impl Iterator<Item = WriteTask>,
    answers: &mut Vec<WriteAnswer>,
    committing: &Cell<bool>,
) -> Result<Option<Write>, redb::Error> {
    let writing = database.begin_write()?;
    let mut records = WrittenRecords {
        records: writing.open_table(RECORDS)?,
        expiry: writing.open_table(EXPIRY)?,
        now,
        changed: false,
        broken: None,
    };
    answers.extend(waiting.map(|job| job(Ok(&mut records))));
    if records.changed {
        records.sweep()?;
    }
    let (changed, broken) = (records.changed, records.broken.take());
    drop(records);
    match broken {
        Some(error) => Err(error),
        None if changed => {
            let write = Write::count(&writing)?;
            let started = Instant::now();
            committing.set(true);
            writing.commit()?;
            metrics::histogram!("assay_store_commit_seconds").record(started.elapsed());
            Ok(Some(write))
        }
        None => {
            writing.abort()?;
            Ok(None)
        }
    }
}

/// The records inside one transaction, without expired ones.
pub(super) struct WrittenRecords<'t> {
    records: Table<'t, &'static str, (u64, &'static [u8])>,
    expiry: Table<'t, (u64, &'static str), ()>,
    now: u64,
    changed: bool,
    /// An error of the file, which prevents the commit.
    broken: Option<redb::Error>,
}

impl WrittenRecords<'_> {
    /// The time of this transaction, in Unix milliseconds.
    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.records.get(key).map_err(failed)?;
        Ok(found.and_then(|found| unexpired(found.value(), self.now)))
    }

    pub(super) fn put(&mut self, key: &str, value: &[u8], ttl: Option<Duration>) -> Result<(), StoreError> {
        let until = ttl.map_or(0, |ttl| self.now.saturating_add(millis(ttl)).max(1));
        self.change(|records, expiry| {
            let replaced = records.insert(key, (until, value))?.map_or(0, |old| old.value().0);
            if replaced != 0 {
                expiry.remove((replaced, key))?;
            }
            if until != 0 {
                expiry.insert((until, key), ())?;
            }
            Ok(())
        })
    }

    pub(super) fn remove(&mut self, key: &str) -> Result<(), StoreError> {
        self.change(|records, expiry| {
            let removed = records.remove(key)?.map_or(0, |old| old.value().0);
            if removed != 0 {
                expiry.remove((removed, key))?;
            }
            Ok(())
        })
    }

    fn change(
        &mut self,
        work: impl FnOnce(
            &mut Table<'_, &'static str, (u64, &'static [u8])>,
            &mut Table<'_, (u64, &'static str), ()>,
        ) -> Result<(), StorageError>,
    ) -> Result<(), StoreError> {
        self.changed = true;
        work(&mut self.records, &mut self.expiry).map_err(|error| {
            let fault = failed(&error);
            self.broken.get_or_insert(error.into());
            fault
        })
    }

    /// Removes some expired records with every commit, which makes a timer unnecessary.
    fn sweep(&mut self) -> Result<(), StorageError> {
        let mut ended = Vec::new();
        for entry in self.expiry.range(..=(self.now, END_OF_KEYS))?.take(SWEEP) {
            let (key, _) = entry?;
            let (at, key) = key.value();
            ended.push((at, key.to_owned()));
        }
        for (at, key) in ended {
            self.expiry.remove((at, key.as_str()))?;
            self.records.remove(key.as_str())?;
        }
        Ok(())
    }
}
