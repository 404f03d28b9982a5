//! The folder of the index: its lock, its format, its database, and databases that were set aside.
//!
//! | file | is |
//! |---|---|
//! | `lock` | locked by the process that has the index open |
//! | `format` | the version of everything else, a decimal number |
//! | `db` | the database |
//! | `db.damaged-…` | a database that could not be read, named by the time; nothing reads it |

mod batch;
mod database;
mod database_fault;

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use chrono::Utc;

pub(crate) use batch::IndexBatch;
pub(crate) use database::Database;
pub(crate) use database_fault::DatabaseFault;

use crate::IndexError;

/// The format that this version reads and writes.
const FORMAT: u64 = 1;

/// Prefix of the name of a database that is set aside.
const SET_ASIDE: &str = "db.damaged-";

/// The folder of an index, locked by this process.
#[derive(Debug)]
pub(crate) struct Folder {
    pub path: PathBuf,
    _lock: Lock,
}

impl Folder {
    /// # Errors
    /// If another process holds the folder, or a newer version wrote it.
    pub(crate) fn hold(path: &Path) -> Result<Self, IndexError> {
        let unusable = |error: io::Error| IndexError::Unusable { folder: path.to_owned(), reason: error.to_string() };
        fs::create_dir_all(path).map_err(unusable)?;
        let lock = Lock::take(path)?;
        let folder = Self { path: path.to_owned(), _lock: lock };
        match fs::read_to_string(path.join("format")).map(|text| text.trim().parse::<u64>()) {
            Ok(Ok(FORMAT)) => {}
            Ok(Ok(found)) if found > FORMAT => {
                return Err(IndexError::Newer { folder: path.to_owned(), found, known: FORMAT });
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
            _ => {
                if folder.database().exists() {
                    folder.set_aside("it does not say its format")?;
                }
                folder.name_format().map_err(unusable)?;
            }
        }
        Ok(folder)
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.path.join("db")
    }

    /// Opens the database. A damaged one is set aside and replaced by an empty one.
    pub(crate) fn open(&self) -> Result<Database, IndexError> {
        let refused = |fault: DatabaseFault| match fault {
            DatabaseFault::Damaged(reason) | DatabaseFault::Failed(reason) => {
                IndexError::Unusable { folder: self.path.clone(), reason }
            }
            DatabaseFault::Gone | DatabaseFault::Entry | DatabaseFault::Stopped => {
                IndexError::Locked { folder: self.path.clone() }
            }
        };
        match Database::open(&self.database()) {
            Err(DatabaseFault::Damaged(reason)) => {
                self.set_aside(&reason)?;
                Database::open(&self.database()).map_err(refused)
            }
            opened => opened.map_err(refused),
        }
    }

    /// Renames the database, which must be closed, and returns its new path.
    pub(crate) fn set_aside(&self, reason: &str) -> Result<PathBuf, IndexError> {
        let aside = self.path.join(format!("{SET_ASIDE}{}", Utc::now().format("%Y%m%dT%H%M%S%.3fZ")));
        fs::rename(self.database(), &aside)
            .map_err(|error| IndexError::Unusable { folder: self.path.clone(), reason: error.to_string() })?;
        tracing::warn!(
            index = %self.path.display(), aside = %aside.display(), reason,
            "the index was damaged; it begins again empty, and what was there is set aside and may be removed"
        );
        Ok(aside)
    }

    fn name_format(&self) -> io::Result<()> {
        let draft = self.path.join("format.new");
        let mut file = File::create(&draft)?;
        writeln!(file, "{FORMAT}")?;
        file.sync_all()?;
        fs::rename(draft, self.path.join("format"))?;
        File::open(&self.path)?.sync_all()
    }

    /// The number of databases that were set aside and not removed.
    pub(crate) fn set_aside_so_far(&self) -> usize {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(SET_ASIDE)).count()
    }

    /// The disk space that the database takes, in bytes, without databases that were set aside.
    pub(crate) fn bytes(&self) -> u64 {
        taken(&self.database())
    }
}

/// Held by the process that has the index open; it ends with the process.
#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the open file holds the lock")] File);

impl Lock {
    pub(super) fn take(folder: &Path) -> Result<Self, IndexError> {
        let unusable = |error: io::Error| IndexError::Unusable { folder: folder.to_owned(), reason: error.to_string() };
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(folder.join("lock")).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked { folder: folder.to_owned() }),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}

fn taken(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let size = |entry: fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => taken(&entry.path()),
        // A journal reserves more bytes than it uses.
        Ok(metadata) => metadata.blocks().saturating_mul(512),
        Err(_) => 0,
    };
    entries.map(size).sum()
}
