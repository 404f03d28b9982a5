//! The number of the last acknowledged write, in a small file next to the store.
//!
//! Damage to exactly the last write of a store that was not closed looks like a write that failed halfway. The number
//! distinguishes them. It is written after each commit without a flush: after a power failure it may be an older
//! number, which refuses nothing.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use redb::{Database, ReadableDatabase, ReadableTable, TableError, WriteTransaction};

use super::META;
use crate::OpenError;

/// The keys in the meta table: a random number identifying the store, and the count of its writes.
const STORE: &str = "store";
const WRITES: &str = "writes";

/// One write of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    store: u64,
    number: u64,
}

impl Write {
    const LENGTH: usize = 24;

    /// Counts the write of `transaction`.
    pub(crate) fn count(transaction: &WriteTransaction) -> Result<Self, redb::Error> {
        let mut meta = transaction.open_table(META)?;
        let known = meta.get(STORE)?.map(|found| found.value());
        let store = match known {
            Some(store) => store,
            None => {
                let store = uuid::Uuid::new_v4().as_u64_pair().1;
                meta.insert(STORE, store)?;
                store
            }
        };
        let number = meta.get(WRITES)?.map_or(0, |found| found.value()).saturating_add(1);
        meta.insert(WRITES, number)?;
        Ok(Self { store, number })
    }

    /// The last write in `database`; `None` if an older version wrote it.
    fn last_of(database: &Database) -> Result<Option<Self>, redb::Error> {
        let meta = match database.begin_read()?.open_table(META) {
            Err(TableError::TableDoesNotExist(_)) => return Ok(None),
            meta => meta?,
        };
        let (store, number) = (meta.get(STORE)?, meta.get(WRITES)?);
        Ok(store.zip(number).map(|(store, number)| Self { store: store.value(), number: number.value() }))
    }

    fn bytes(self) -> [u8; Self::LENGTH] {
        let mut bytes = [0; Self::LENGTH];
        let words = [self.store, self.number, self.store ^ self.number];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// `None` for incomplete bytes.
    fn of(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else { return None };
        let &[store, number, check] = words else { return None };
        let [store, number, check] = [store, number, check].map(u64::from_le_bytes);
        (store ^ number == check).then_some(Self { store, number })
    }
}

/// The file with the number. If it cannot be written, the next start checks less.
pub(super) struct Acknowledged(Option<File>);

impl Acknowledged {
    pub(crate) fn open(store: &Path) -> Self {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(path(store));
        if let Err(error) = &file {
            tracing::warn!(store = %store.display(), %error, "the number of the last write cannot be kept");
        }
        Self(file.ok())
    }

    /// Records that `write` is on disk and about to be acknowledged.
    pub(crate) fn note(&self, write: Write) {
        let noted = self.0.as_ref().map_or(Ok(()), |mut file| {
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&write.bytes())
        });
        if let Err(error) = noted {
            tracing::debug!(%error, "the number of the last write was not kept");
        }
    }
}

/// Compares the last write in `database` with the last acknowledged one.
///
/// # Errors
/// [`OpenError::Damaged`] if an acknowledged write is missing.
pub(super) fn check(database: &Database, store: &Path) -> Result<(), OpenError> {
    let damaged = |reason: String| OpenError::Damaged { path: store.to_owned(), reason };
    let Some(acknowledged) = fs::read(path(store)).ok().as_deref().and_then(Write::of) else { return Ok(()) };
    let last = Write::last_of(database).map_err(|error| damaged(error.to_string()))?;
    match last.filter(|last| last.store == acknowledged.store && last.number < acknowledged.number) {
        None => Ok(()),
        Some(last) => Err(damaged(format!(
            "it ends with write {}, and write {} was acknowledged; if this is an older copy, or the later writes may \
             be lost, remove {}",
            last.number,
            acknowledged.number,
            path(store).display()
        ))),
    }
}

/// Removes the number of the last acknowledged write: another store replaces this one.
pub(super) fn forget(store: &Path) -> io::Result<()> {
    match fs::remove_file(path(store)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn path(store: &Path) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(".last");
    path.into()
}
