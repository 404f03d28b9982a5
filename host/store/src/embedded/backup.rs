//! Backs up the file while the store is in use, and restores it. Neither overwrites a file.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
};

use redb::{Database, ReadableDatabase, ReadableTable, ReadableTableMetadata};

use super::{EXPIRY, RECORDS, acknowledged, examine::examine, open};
use crate::{BackupError, Copied, OpenError};

/// Records per transaction of a copy, which limits its memory.
const STEP: usize = 20_000;

/// Copies the current records of `from` to the new store file `to`. The file gets its name once it is complete and on
/// disk.
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
        // A leftover file would only use disk space.
        let _ = fs::remove_file(&draft);
    }
    outcome
}

/// Copies every record with its expiry, in one read transaction.
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

/// Replaces the store at `path` by a copy of `backup`, and moves the old store to `aside`.
///
/// # Errors
/// [`OpenError`] if the backup is unusable or damaged, or the store is in use; nothing changes.
pub(crate) fn restore(backup: &Path, path: &Path, aside: PathBuf) -> Result<Option<PathBuf>, OpenError> {
    let unusable =
        |path: &Path, error: io::Error| OpenError::Unusable { path: path.to_owned(), reason: error.to_string() };
    // The store may be damaged, so it is not opened; only its lock shows whether it is in use.
    let held = path.exists().then(|| File::open(path)).transpose().map_err(|error| unusable(path, error))?;
    if held.as_ref().is_some_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
        return Err(OpenError::Locked { path: path.to_owned() });
    }
    let draft = beside(path, "restoring");
    let copied = fs::copy(backup, &draft).and_then(|_| File::open(&draft)?.sync_all());
    let outcome = copied.map_err(|error| unusable(backup, error)).and_then(|()| check(backup, &draft));
    let outcome = outcome.and_then(|()| {
        let stood = path.exists();
        if stood {
            // `path` always holds a store: a server that started without one would create an empty one.
            fs::hard_link(path, &aside).map_err(|error| unusable(&aside, error))?;
        }
        acknowledged::forget(path).and_then(|()| settle(&draft, path)).map_err(|error| unusable(path, error))?;
        Ok(stood.then_some(aside))
    });
    if outcome.is_err() {
        let _ = fs::remove_file(&draft);
    }
    drop(held);
    outcome
}

/// Checks the copy; errors name the backup.
fn check(backup: &Path, draft: &Path) -> Result<(), OpenError> {
    examine(draft).map(drop).map_err(|error| match error {
        OpenError::Damaged { reason, .. } => OpenError::Damaged { path: backup.to_owned(), reason },
        OpenError::Newer { found, known, .. } => OpenError::Newer { path: backup.to_owned(), found, known },
        other => other,
    })
}

/// Renames a file and flushes its folder.
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
