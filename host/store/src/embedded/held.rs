//! The database in use. After a failure of the file, such as a full disk, it is reopened: first only for reading, and
//! for writing as soon as a write succeeds. Only short calls hold its lock; a backup holds the database itself, and
//! after a failure the file is opened again once the backup has ended.

use std::{
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use redb::Database;

use super::{examine::examine, failed, open};
use crate::{BackupError, StoreError, pauses};

pub(super) struct HeldDatabase {
    path: PathBuf,
    current: RwLock<OpenDatabase>,
    failing: AtomicBool,
}

struct OpenDatabase {
    state: HoldState,
    /// How often the database was opened.
    opened: u64,
    /// The time of the next attempt to write again.
    due: Instant,
}

enum HoldState {
    Writable(Arc<Database>),
    /// Writes would be lost. The reason is that of the last failed write.
    Readable(Arc<Database>, String),
    Closed(String),
}

impl HoldState {
    fn readable(&self) -> Result<&Arc<Database>, StoreError> {
        match self {
            Self::Writable(database) | Self::Readable(database, _) => Ok(database),
            Self::Closed(reason) => Err(StoreError::Away { reason: reason.clone() }),
        }
    }

    fn writable(&self) -> Result<&Database, StoreError> {
        match self {
            Self::Writable(database) => Ok(database),
            Self::Readable(_, reason) | Self::Closed(reason) => Err(unwritable(reason)),
        }
    }
}

fn unwritable(reason: &str) -> StoreError {
    StoreError::Unwritable { reason: format!("{reason}; check the disk and its space") }
}

impl HeldDatabase {
    pub(super) fn new(path: PathBuf, database: Database) -> Self {
        let current = OpenDatabase { state: HoldState::Writable(Arc::new(database)), opened: 0, due: Instant::now() };
        Self { path, current: RwLock::new(current), failing: AtomicBool::new(false) }
    }

    /// Whether writes currently fail.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    /// Reads, and reads again if the file had failed for another call.
    pub(super) fn read<R>(&self, read: impl Fn(&Database) -> Result<R, redb::Error>) -> Result<R, StoreError> {
        let (opened, error) = match self.attempt(&read)? {
            (_, Ok(found)) => return Ok(found),
            (opened, Err(error)) => (opened, error),
        };
        if !has_stopped(&error) {
            return Err(failed(error));
        }
        self.stop(opened, &error.to_string());
        self.attempt(&read)?.1.map_err(failed)
    }

    /// Lets a backup read for as long as it takes. Its failures do not stop the store, and other calls do not wait for
    /// it.
    pub(super) fn lend<R>(&self, work: impl FnOnce(&Database) -> Result<R, BackupError>) -> Result<R, BackupError> {
        let lent = self.current.read().unwrap_or_else(PoisonError::into_inner).state.readable().cloned();
        work(&*lent.map_err(|error| BackupError::Failed { path: self.path.clone(), reason: error.to_string() })?)
    }

    fn attempt<R>(
        &self,
        read: &impl Fn(&Database) -> Result<R, redb::Error>,
    ) -> Result<(u64, Result<R, redb::Error>), StoreError> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        Ok((current.opened, read(current.state.readable()?)))
    }

    /// Lets `write` use the database, and stops writes if it failed or panicked. A panic must not end the thread that
    /// writes.
    pub(super) fn write<R>(&self, write: impl FnOnce(&Database) -> Result<R, redb::Error>) -> Result<R, StoreError> {
        let (opened, outcome) = {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            let database = current.state.writable()?;
            let written = catch_unwind(AssertUnwindSafe(|| write(database)));
            (current.opened, written.unwrap_or_else(|_| Err(io::Error::other("a write panicked").into())))
        };
        outcome.map_err(|error| {
            let reason = error.to_string();
            self.stop(opened, &reason);
            unwritable(&reason)
        })
    }

    /// Opens the database only for reading, unless another thread did.
    fn stop(&self, opened: u64, reason: &str) {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.opened != opened {
            return;
        }
        tracing::error!(store = %self.path.display(), reason, "the store cannot be written; it is tried again until it \
                                                               can");
        self.failing.store(true, Ordering::Relaxed);
        let started = Instant::now();
        self.open_for_reading(&mut current, reason);
        current.due = due(started);
    }

    /// Only a closed database can be opened.
    fn open_for_reading(&self, current: &mut OpenDatabase, reason: &str) {
        current.state = HoldState::Closed(reason.to_owned());
        current.opened += 1;
        match examine(&self.path) {
            Ok(database) => current.state = HoldState::Readable(Arc::new(database), reason.to_owned()),
            Err(error) => current.state = HoldState::Closed(error.to_string()),
        }
    }

    /// Tries to write again, if an attempt is due.
    pub(super) fn resume(&self) {
        if !self.is_failing() {
            return;
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        if started < current.due {
            return;
        }
        let reason = match &current.state {
            HoldState::Writable(_) => return,
            HoldState::Readable(_, reason) | HoldState::Closed(reason) => reason.clone(),
        };
        current.state = HoldState::Closed(reason);
        current.opened += 1;
        match open::existing(&self.path) {
            Ok(database) => {
                current.state = HoldState::Writable(Arc::new(database));
                self.failing.store(false, Ordering::Relaxed);
                tracing::info!(store = %self.path.display(), "the store can be written again");
            }
            Err(error) => {
                self.open_for_reading(&mut current, &error.to_string());
                current.due = due(started);
            }
        }
    }
}

fn due(started: Instant) -> Instant {
    let now = Instant::now();
    now + pauses::FULL_RETRY.max(now.duration_since(started) * pauses::FULL_RETRY_SHARE)
}

/// Whether the database accepts no further calls.
fn has_stopped(error: &redb::Error) -> bool {
    matches!(error, redb::Error::Io(_) | redb::Error::PreviousIo)
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    #[test]
    fn no_call_waits_for_a_backup_after_a_failed_write() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assay.redb");
        let held = Arc::new(HeldDatabase::new(path.clone(), open::open(&path).unwrap()));
        let (begun, begins) = mpsc::channel();
        let (answered, answers) = mpsc::channel();
        let backup = thread::spawn({
            let held = held.clone();
            move || {
                held.lend(|_| {
                    begun.send(()).unwrap();
                    // Not for ever: a call that waits for this backup is to fail the test, not to hang it.
                    Ok(answers.recv_timeout(std::time::Duration::from_secs(60)).is_ok())
                })
            }
        });
        begins.recv().unwrap();
        let broken = || redb::Error::Io(io::Error::other("on purpose"));
        assert!(matches!(held.write(|_| Err::<(), _>(broken())), Err(StoreError::Unwritable { .. })));
        assert!(matches!(held.write(|_| Ok(())), Err(StoreError::Unwritable { .. })));
        assert!(matches!(held.read(|_| Ok(())), Err(StoreError::Away { .. })));
        answered.send(()).unwrap();
        assert!(backup.join().unwrap().unwrap(), "the calls waited for the backup");
        assert_is_written_again(&held);
    }

    fn assert_is_written_again(held: &HeldDatabase) {
        while held.is_failing() {
            held.resume();
            thread::yield_now();
        }
        held.write(|_| Ok(())).unwrap();
        held.read(|_| Ok(())).unwrap();
    }

    #[test]
    fn a_write_that_panics_is_one_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("assay.redb");
        let held = HeldDatabase::new(path.clone(), open::open(&path).unwrap());
        let panics = |database: &Database| -> Result<(), redb::Error> {
            let _writing = database.begin_write()?;
            panic!("on purpose")
        };
        assert!(matches!(held.write(panics), Err(StoreError::Unwritable { .. })) && held.is_failing());
        assert_is_written_again(&held);
    }
}
