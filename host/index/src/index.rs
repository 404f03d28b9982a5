//! The index of this process: opens the folder, and opens it again after a failed write.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard},
};

use assay_domain::ChainId;

use crate::{
    IndexError, Progress,
    folder::{Database, Fault, Folder},
};

/// The index of all chains. Clones share it.
#[derive(Clone)]
pub struct Index(Arc<Shared>);

struct Shared {
    folder: Folder,
    current: RwLock<Current>,
    /// One write at a time.
    writing: Mutex<()>,
}

struct Current {
    /// `None` if it could not be opened again.
    database: Option<Database>,
    /// How often it was opened.
    opened: u64,
}

impl Index {
    /// Opens the index in `folder`, or begins an empty one. If the files are damaged, a warning names the place to
    /// which they are renamed, and an empty index begins.
    ///
    /// # Errors
    /// [`IndexError::Locked`], [`IndexError::Newer`] or [`IndexError::Unusable`]; nothing was changed.
    pub fn open(folder: &Path) -> Result<Self, IndexError> {
        let folder = Folder::hold(folder)?;
        let current = RwLock::new(Current { database: Some(folder.open()?), opened: 0 });
        Ok(Self(Arc::new(Shared { folder, current, writing: Mutex::new(()) })))
    }

    /// How far the index of a chain is; `None` if [`begin`](Self::begin) was not called for it.
    ///
    /// # Errors
    /// That the folder cannot be read.
    pub fn progress(&self, chain: ChainId) -> Result<Option<Progress>, IndexError> {
        let progress = self.read(|database| database.view().progress(chain))?;
        // Until then no reader sees what is to be removed.
        Ok(progress.map(|progress| Progress { rewinding: false, ..progress }))
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.0.folder
    }

    /// Lets this thread alone write until the guard is dropped.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.0.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn read<T>(&self, read: impl Fn(&Database) -> Result<T, Fault>) -> Result<T, IndexError> {
        self.attempt(&read).map_err(|failed| self.reading_error(failed))
    }

    /// `write` is called again after the database was opened again, if it had stopped.
    pub(crate) fn write<T>(&self, write: impl Fn(&Database) -> Result<T, Fault>) -> Result<T, IndexError> {
        match self.attempt(&write) {
            Err(Failed { fault: Fault::Stopped, opened }) => {
                self.reopen(opened)?;
                self.attempt(&write).map_err(|failed| self.writing_error(failed))
            }
            done => done.map_err(|failed| self.writing_error(failed)),
        }
    }

    fn attempt<T>(&self, work: &impl Fn(&Database) -> Result<T, Fault>) -> Result<T, Failed> {
        let current = self.current();
        let failed = |fault| Failed { fault, opened: current.opened };
        work(current.database.as_ref().ok_or_else(|| failed(Fault::Stopped))?).map_err(failed)
    }

    fn current(&self) -> RwLockReadGuard<'_, Current> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn reading_error(&self, Failed { fault, opened }: Failed) -> IndexError {
        let folder = self.folder().path.clone();
        match fault {
            Fault::Damaged(reason) => self.begin_again(reason, opened),
            Fault::Gone => self.begin_again("the entries of a chain are missing".into(), opened),
            Fault::Entry => self.begin_again("an entry has other bytes than were written".into(), opened),
            Fault::Failed(reason) => IndexError::Unusable { folder, reason },
            Fault::Stopped => IndexError::Unusable { folder, reason: "it could not be opened again".into() },
        }
    }

    fn writing_error(&self, Failed { fault, opened }: Failed) -> IndexError {
        let folder = self.folder().path.clone();
        match fault {
            Fault::Failed(reason) => IndexError::Unwritable { folder, reason },
            Fault::Stopped => IndexError::Unwritable { folder, reason: "an earlier write failed".into() },
            fault => self.reading_error(Failed { fault, opened }),
        }
    }

    /// Opens the database again, unless another thread did.
    fn reopen(&self, opened: u64) -> Result<(), IndexError> {
        let mut current = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        if current.opened == opened {
            // Only a closed database can be opened.
            current.database = None;
            current.database = Some(self.folder().open()?);
            current.opened += 1;
        }
        Ok(())
    }

    /// Sets a damaged database aside, unless another thread did, and begins an empty one.
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

/// What failed, and in which opening of the database.
struct Failed {
    fault: Fault,
    opened: u64,
}
