//! Opens the file of the embedded backend, or creates it atomically. It overwrites no file.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use redb::{Database, DatabaseError, ReadableDatabase, StorageError, TableError};

use super::{EXPIRY, FORMAT, META, RECORDS};
use crate::OpenError;

/// The size of the page cache, in bytes.
const CACHE_BYTES: usize = 64 << 20;

pub(super) fn open(path: &Path) -> Result<Database, OpenError> {
    let unusable = |error: io::Error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(unusable)?;
    }
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        Err(error) => Err(unusable(error)),
        Ok(found) if !found.is_file() => {
            Err(OpenError::Unusable { path: path.to_owned(), reason: "it is not a file".into() })
        }
        Ok(found) if found.len() == 0 => {
            Err(OpenError::Damaged { path: path.to_owned(), reason: "it is empty".into() })
        }
        Ok(_) => existing(path),
    }
}

pub(super) fn existing(path: &Path) -> Result<Database, OpenError> {
    let shown = path.to_owned();
    let database = redb::Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |session| {
            tracing::warn!(store = %shown.display(), percent = session.progress() * 100.0, "the store was not closed; checking it");
        })
        .open(path)
        .map_err(|error| refusal(path, error))?;
    let damaged = |reason: String| OpenError::Damaged { path: path.to_owned(), reason };
    let reading = database.begin_read().map_err(|error| damaged(error.to_string()))?;
    let found = match reading.open_table(META) {
        Ok(meta) => meta.get(FORMAT.0).map_err(|error| damaged(error.to_string()))?.map(|found| found.value()),
        Err(TableError::TableDoesNotExist(_)) => None,
        Err(error) => return Err(damaged(error.to_string())),
    };
    match found {
        Some(found) if found == FORMAT.1 => Ok(database),
        Some(found) => Err(OpenError::Newer { path: path.to_owned(), found, known: FORMAT.1 }),
        None => Err(damaged("it does not say its format".into())),
    }
}

/// Creates the store under another name and renames it, so that a crash leaves no half store. The file keeps its lock:
/// of two processes that start at the same time, the one without the lock fails.
fn create(path: &Path) -> Result<Database, OpenError> {
    let unusable = |reason: String| OpenError::Unusable { path: path.to_owned(), reason };
    let mut draft = path.as_os_str().to_owned();
    draft.push(".new");
    let draft = PathBuf::from(draft);
    let database = match make(&draft) {
        Err(DatabaseError::DatabaseAlreadyOpen) => return Err(OpenError::Locked { path: path.to_owned() }),
        Err(_) => {
            // Left by a crash at this point.
            fs::remove_file(&draft).map_err(|error| unusable(error.to_string()))?;
            make(&draft).map_err(|error| refusal(path, error))?
        }
        Ok(database) => database,
    };
    initialise(&database).map_err(|error| unusable(error.to_string()))?;
    if path.exists() {
        drop(database);
        fs::remove_file(&draft).map_err(|error| unusable(error.to_string()))?;
        return existing(path);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::rename(&draft, path)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|error| unusable(error.to_string()))?;
    Ok(database)
}

fn make(draft: &Path) -> Result<Database, DatabaseError> {
    redb::Builder::new().set_cache_size(CACHE_BYTES).create(draft)
}

pub(super) fn initialise(database: &Database) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    writing.open_table(META)?.insert(FORMAT.0, FORMAT.1)?;
    writing.open_table(RECORDS)?;
    writing.open_table(EXPIRY)?;
    Ok(writing.commit()?)
}

fn refusal(path: &Path, error: DatabaseError) -> OpenError {
    let path = path.to_owned();
    match error {
        DatabaseError::DatabaseAlreadyOpen => OpenError::Locked { path },
        DatabaseError::Storage(StorageError::Io(error))
            if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
        {
            OpenError::Unusable { path, reason: error.to_string() }
        }
        error => OpenError::Damaged { path, reason: error.to_string() },
    }
}
