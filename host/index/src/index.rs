//! The index of this process: opens the folder, and reopens it after a failed write.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};

use assay_domain::ChainId;

use crate::{
    IndexError, IndexProgress,
    folder::{Database, DatabaseFault, Folder},
};

/// The index of all chains. Clones share it.
#[derive(Clone)]
pub struct Index(Arc<IndexShared>);

struct IndexShared {
    folder: Folder,
    current: RwLock<OpenFolder>,
    /// Allows one write at a time.
    writing: Mutex<()>,
}

struct OpenFolder {
    /// `None` if it could not be reopened.
    database: Option<Database>,
    /// How often the database was opened.
    opened: u64,
}

impl Index {
    /// Opens the index in `folder`, or creates an empty one. Damaged files are renamed, a warning names their new
    /// place, and an empty index begins.
    ///
    /// # Errors
    /// [`IndexError::Locked`], [`IndexError::Newer`] or [`IndexError::Unusable`]; nothing was changed.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        let folder = Folder::hold(folder)?;
        let current = RwLock::new(OpenFolder { database: Some(folder.open()?), opened: 0 });
        Ok(Self(Arc::new(IndexShared { folder, current, writing: Mutex::new(()) })))
    }

    /// Returns how far the index of a chain is, or `None` if [`begin`](Self::begin) was not called for it.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn progress(&self, chain: ChainId) -> Result<Option<IndexProgress>, IndexError> {
        let progress = self.read(|database| database.view().progress(chain))?;
        // Until the removal has ended, readers skip the entries to be removed.
        Ok(progress.map(|progress| IndexProgress { rewinding: false, ..progress }))
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Only this thread may write until the guard is dropped.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(&self, read: impl Fn(&Database) -> Result<T, DatabaseFault>) -> Result<T, IndexError> {
        self.attempt(&read).map_err(|failed| self.reading_error(failed))
    }

    /// Runs `write`, and runs it again after reopening the database if it had stopped.
    pub(crate) fn write<T>(&self, write: impl Fn(&Database) -> Result<T, DatabaseFault>) -> Result<T, IndexError> {
        match self.attempt(&write) {
            Err(FailedFolder { fault: DatabaseFault::Stopped, opened }) => {
                self.reopen(opened)?;
                self.attempt(&write).map_err(|failed| self.writing_error(failed))
            }
            done => done.map_err(|failed| self.writing_error(failed)),
        }
    }

    fn attempt<T>(&self, work: &impl Fn(&Database) -> Result<T, DatabaseFault>) -> Result<T, FailedFolder> {
        let current = self.current();
        let failed = |fault| FailedFolder { fault, opened: current.opened };
        work(current.database.as_ref().ok_or_else(|| failed(DatabaseFault::Stopped))?).map_err(failed)
    }

    fn current(&self) -> RwLockReadGuard<'_, OpenFolder> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading_error(&self, FailedFolder { fault, opened }: FailedFolder) -> IndexError {
        let folder = self.folder().path.clone();
        match fault {
            DatabaseFault::Damaged(reason) => self.begin_again(reason, opened),
            DatabaseFault::Gone => self.begin_again("the entries of a chain are missing".into(), opened),
            DatabaseFault::Entry => self.begin_again("an entry has other bytes than were written".into(), opened),
            DatabaseFault::Failed(reason) => IndexError::Unusable { folder, reason },
            DatabaseFault::Stopped => IndexError::Unusable { folder, reason: "it could not be opened again".into() },
        }
    }

    fn writing_error(&self, FailedFolder { fault, opened }: FailedFolder) -> IndexError {
        let folder = self.folder().path.clone();
        match fault {
            DatabaseFault::Failed(reason) => IndexError::Unwritable { folder, reason },
            DatabaseFault::Stopped => IndexError::Unwritable { folder, reason: "an earlier write failed".into() },
            fault => self.reading_error(FailedFolder { fault, opened }),
        }
    }

    /// Reopens the database, unless another thread did.
    fn reopen(&self, opened: u64) -> Result<(), IndexError> {
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.opened == opened {
            // A database can only be opened when it is closed.
            current.database = None;
            current.database = Some(self.folder().open()?);
            current.opened += 1;
        }
        Ok(())
    }

    /// Sets a damaged database aside and begins an empty one, unless another thread did.
    fn begin_again(&self, reason: String, opened: u64) -> IndexError {
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder();
        if current.opened != opened {
            return IndexError::Unusable { folder: folder.path.clone(), reason };
        }
        current.database = None;
        let again = folder.set_aside(&reason).and_then(|aside| Ok((aside, folder.open()?)));
        match again {
            Ok((aside, database)) => {
                (current.database, current.opened) = (Some(database), opened + 1);
                IndexError::Damaged { folder: folder.path.clone(), reason, aside }
            }
            Err(error) => error,
        }
    }
}

impl fmt::Debug for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Index").field(&self.folder().path).finish()
    }
}

/// A fault, and in which opening of the database it occurred.
struct FailedFolder {
    fault: DatabaseFault,
    opened: u64,
}
