//! A read-only view of a file whose changes stay in memory.

use std::{
    collections::BTreeMap,
    io,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use redb::{BackendError, StorageBackend, backends::FileBackend};

const PAGE: u64 = 4096;

/// Clones share the changes.
#[derive(Debug, Clone)]
pub(super) struct Overlay(Arc<SharedFile>);

#[derive(Debug)]
struct SharedFile {
    file: FileBackend,
    changed: Mutex<Changed>,
}

#[derive(Debug)]
struct Changed {
    /// The length including the changes.
    length: u64,
    /// The end of the file's own bytes that are still valid; later ones were cut off.
    kept: u64,
    /// The changed pages, by their offset.
    pages: BTreeMap<u64, Box<[u8]>>,
}

impl Overlay {
    pub(super) fn over(file: FileBackend) -> io::Result<Self> {
        let length = file.len()?;
        let changed = Mutex::new(Changed { length, kept: length, pages: BTreeMap::new() });
        Ok(Self(Arc::new(SharedFile { file, changed })))
    }

    fn changed(&self) -> MutexGuard<'_, Changed> {
        self.0.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes of the file, and zeros beyond them.
    fn unchanged(&self, changed: &Changed, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = usize::try_from(changed.kept.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (read, beyond) = out.split_at_mut(there);
        beyond.fill(0);
        if read.is_empty() { Ok(()) } else { self.0.file.read(offset, read) }
    }
}

#[expect(clippy::indexing_slicing, reason = "the ranges are within the page and within the caller's bytes")]
impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.changed().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let changed = self.changed();
        let end = offset + out.len() as u64;
        if end > changed.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.unchanged(&changed, offset, out)?;
        for (&at, page) in changed.pages.range(offset / PAGE * PAGE..end) {
            let (from, to) = (at.max(offset), (at + PAGE).min(end));
            out[(from - offset) as usize..(to - offset) as usize]
                .copy_from_slice(&page[(from - at) as usize..(to - at) as usize]);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut changed = self.changed();
        let end = offset + data.len() as u64;
        if end > changed.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut at = offset / PAGE * PAGE;
        while at < end {
            if !changed.pages.contains_key(&at) {
                let mut page = vec![0; PAGE as usize].into_boxed_slice();
                self.unchanged(&changed, at, &mut page)?;
                changed.pages.insert(at, page);
            }
            let (from, to) = (at.max(offset), (at + PAGE).min(end));
            if let Some(page) = changed.pages.get_mut(&at) {
                page[(from - at) as usize..(to - at) as usize]
                    .copy_from_slice(&data[(from - offset) as usize..(to - offset) as usize]);
            }
            at += PAGE;
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut changed = self.changed();
        changed.length = length;
        changed.kept = changed.kept.min(length);
        changed.pages.split_off(&length);
        let last = length / PAGE * PAGE;
        if let Some(page) = changed.pages.get_mut(&last) {
            page[(length - last) as usize..].fill(0);
        }
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(start, end)
    }

    fn try_lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.query_lock_range(start, end)
    }
}
