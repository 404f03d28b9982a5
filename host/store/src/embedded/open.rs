//! Opens the file of the embedded backend, or creates it atomically. Overwrites no file.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use redb::{Database, DatabaseError};

use super::{
    CACHE_BYTES, EXPIRY, FORMAT, META, RECORDS, acknowledged,
    examine::{examine, refusal},
};
use crate::OpenError;

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

/// Opens a file after checking it, and writes to it, which fails on a full disk.
pub(super) fn existing(path: &Path) -> Result<Database, OpenError> {
    acknowledged::check(&examine(path)?, path)?;
    let opened = redb::Builder::new().set_cache_size(CACHE_BYTES).open(path);
    let database = opened.map_err(|error| refusal(path, error))?;
    prove(&database).map_err(|error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() })?;
    Ok(database)
}

fn prove(database: &Database) -> Result<(), redb::Error> {
    let writing = database.begin_write()?;
    writing.open_table(META)?.insert(FORMAT.0, FORMAT.1)?;
    Ok(writing.commit()?)
}

/// Creates the store under another name and renames it, so a crash leaves no incomplete store. The file keeps its lock:
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
