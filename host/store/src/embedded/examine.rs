//! Checks a store file before it is used: every page that it needs, by its checksum. The file is not changed.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use redb::{
    Database, DatabaseError, ReadableDatabase, StorageBackend, StorageError, TableError, backends::FileBackend,
};

use super::{CACHE_BYTES, FORMAT, META, overlay::Overlay};
use crate::OpenError;

/// Checks the file, and opens it for reading: later changes stay in memory and are lost.
///
/// # Errors
/// [`OpenError`] if it is in use, newer or damaged.
pub(super) fn examine(path: &Path) -> Result<Database, OpenError> {
    let damaged = |reason: String| OpenError::Damaged { path: path.to_owned(), reason };
    // Range locks need write permission.
    let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| refusal(path, error.into()))?;
    let file = FileBackend::new(file).map_err(|error| refusal(path, error))?;
    let overlay = Overlay::over(file).map_err(|error| refusal(path, error.into()))?;
    let repaired = Arc::new(AtomicBool::new(false));
    let (shown, repairs) = (path.to_owned(), repaired.clone());
    let mut database = redb::Builder::new()
        .set_cache_size(CACHE_BYTES)
        .set_repair_callback(move |_| {
            if !repairs.swap(true, Ordering::Relaxed) {
                tracing::warn!(store = %shown.display(), "the store was not closed; checking it");
            }
        })
        .create_with_backend(overlay.clone())
        .map_err(|error| refusal(path, error))?;
    let repaired = repaired.load(Ordering::Relaxed);
    let headers = File::open(path).and_then(|mut file| {
        let mut bytes = [0; FileHeader::LENGTH];
        file.read_exact(&mut bytes)?;
        let before = FileHeader::of(&bytes);
        overlay.read(0, &mut bytes)?;
        Ok((before, FileHeader::of(&bytes)))
    });
    let (before, after) = headers.map_err(|error| refusal(path, error.into()))?;
    if !before.is_unclean() && before.current() < before.other() {
        return Err(damaged("its header names an older write than its last".into()));
    }
    // A repair has checked every page.
    if !repaired {
        match database.check_integrity() {
            Ok(true) => {}
            Ok(false) => return Err(damaged("its checksums do not hold".into())),
            Err(error) => return Err(refusal(path, error)),
        }
    }
    // A repair is a separate commit. After a full disk, a failed write may have left its header.
    if repaired && after.current() != before.current().wrapping_add(1) {
        tracing::error!(
            store = %path.display(),
            "the last write to the store is not whole: it failed, as on a full disk or without power, or the file is \
             damaged; the store goes on from the write before"
        );
    }
    match format(&database).map_err(|error| damaged(error.to_string()))? {
        Some(found) if found == FORMAT.1 => Ok(database),
        Some(found) => Err(OpenError::Newer { path: path.to_owned(), found, known: FORMAT.1 }),
        None => Err(damaged("it does not say its format".into())),
    }
}

fn format(database: &Database) -> Result<Option<u64>, redb::Error> {
    match database.begin_read()?.open_table(META) {
        Ok(meta) => Ok(meta.get(FORMAT.0)?.map(|found| found.value())),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn refusal(path: &Path, error: DatabaseError) -> OpenError {
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

/// The part of a file's header that no checksum covers: which of two commits is the current one.
struct FileHeader {
    flags: u8,
    /// The transactions of the two commits.
    commits: [u64; 2],
}

#[expect(clippy::indexing_slicing, reason = "the places are constants within the header")]
impl FileHeader {
    const LENGTH: usize = 320;
    const FLAGS: usize = 9;
    const SECOND: u8 = 1;
    const UNCLEAN: u8 = 2;
    const COMMITS: [usize; 2] = [64 + 104, 64 + 128 + 104];

    fn of(bytes: &[u8; Self::LENGTH]) -> Self {
        let commits = Self::COMMITS.map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(number)
        });
        Self { flags: bytes[Self::FLAGS], commits }
    }

    fn is_unclean(&self) -> bool {
        self.flags & Self::UNCLEAN != 0
    }

    fn current(&self) -> u64 {
        self.commits[usize::from(self.flags & Self::SECOND)]
    }

    fn other(&self) -> u64 {
        self.commits[usize::from(self.flags & Self::SECOND == 0)]
    }
}
