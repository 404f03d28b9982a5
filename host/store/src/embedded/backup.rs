//! A copy of the file, made while the store is in use, and its way back. Neither ever writes over a file.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::{EXPIRY, RECORDS, open};
use crate::{BackupError, Copied, OpenError};

/// Records written by one transaction of a copy, so that its memory does not grow with the store.
const STEP: usize = 20_000;

/// Copies what `from` holds at this moment to `to`, a file that opens like the one it was made from. It stands under
/// its name only once it is whole and on disk.
pub(super) fn copy(from: &Database, to: &Path) -> Result<Copied, BackupError> {
    let failed = |error: &dyn std::fmt::Display| BackupError::Failed { path: to.to_owned(), reason: error.to_string() };
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
    }
    if to.exists() {
        return Err(failed(&"there is a file of this name"));
    }
    let draft = beside(to, "part");
    let outcome = fill(from, &draft).map_err(|error| failed(&error)).and_then(|records| {
        let bytes = fs::metadata(&draft)
            .and_then(|made| settle(&draft, to).map(|()| made.len()))
            .map_err(|error| failed(&error))?;
        Ok(Copied { path: to.to_owned(), records, bytes })
    });
    if outcome.is_err() {
        // What is left of it would only take the space that was probably missing.
        let _ = fs::remove_file(&draft);
    }
    outcome
}

/// Every record with its end of life, read in one transaction.
fn fill(from: &Database, draft: &Path) -> Result<u64, redb::Error> {
    let _ = fs::remove_file(draft);
    let database = Database::create(draft)?;
    open::initialise(&database)?;
    let reading = from.begin_read()?;
    let found = reading.open_table(RECORDS)?;
    let mut entries = found.iter()?.peekable();
    while entries.peek().is_some() {
        let writing = database.begin_write()?;
        {
            let (mut records, mut expiry) = (writing.open_table(RECORDS)?, writing.open_table(EXPIRY)?);
            for entry in entries.by_ref().take(STEP) {
                let (key, value) = entry?;
                let (until, bytes) = value.value();
                records.insert(key.value(), (until, bytes))?;
                if until != 0 {
                    expiry.insert((until, key.value()), ())?;
                }
            }
        }
        writing.commit()?;
    }
    Ok(found.len()?)
}

/// Puts a copy of `backup` in the place of the store at `path`, and what stood there beside it as the second of the two
/// paths.
///
/// # Errors
/// [`OpenError`] where the backup is none or is damaged, or where the store is in use. Nothing was changed then.
pub(crate) fn restore(backup: &Path, path: &Path, aside: PathBuf) -> Result<Option<PathBuf>, OpenError> {
    let unusable =
        |path: &Path, error: io::Error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() };
    // The store is not opened, since it may be damaged: its lock alone tells whether somebody uses it.
    let held = path.exists().then(|| File::open(path)).transpose().map_err(|error| unusable(path, error))?;
    if held.as_ref().is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
        return Err(OpenError::Locked { path: path.to_owned() });
    }
    let draft = beside(path, "restoring");
    let outcome = fs::copy(backup, &draft).map_err(|error| unusable(backup, error)).and_then(|_| check(backup, &draft));
    let outcome = outcome.and_then(|()| {
        let stood = path.exists();
        if stood {
            settle(path, &aside).map_err(|error| unusable(&aside, error))?;
        }
        settle(&draft, path).map_err(|error| unusable(path, error))?;
        Ok(stood.then_some(aside))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&draft);
    }
    drop(held);
    outcome
}

/// That every page of the copy is as it was written. The backup itself is not opened: opening may repair, and so write.
fn check(backup: &Path, draft: &Path) -> Result<(), OpenError> {
    let named = |error: OpenError| match error {
        OpenError::Damaged { reason, .. } => OpenError::Damaged { path: backup.to_owned(), reason },
        OpenError::Newer { found, known, .. } => OpenError::Newer { path: backup.to_owned(), found, known },
        other => other,
    };
    let mut database = open::existing(draft).map_err(named)?;
    let damaged = |reason: String| OpenError::Damaged { path: backup.to_owned(), reason };
    match database.check_integrity() {
        Ok(true) => Ok(()),
        Ok(false) => Err(damaged("its checksums do not hold".into())),
        Err(error) => Err(damaged(error.to_string())),
    }
}

/// Under its new name, for good.
fn settle(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
