//! Changes of one chain, committed all or none even if the process is killed. A small batch is committed through the
//! journal. A large one is written directly as a sorted table, which bypasses the journal and the tables in memory.

use std::sync::atomic::Ordering;

use fjall::{UserKey, UserValue};
use serde::Serialize;

use super::{
    database::{ASSETS, Database, EntryFamily, IMPORT, PROGRESS, YOUNG_TABLES_BESIDE_JOURNAL},
    database_fault::DatabaseFault,
};
use crate::{codec::AssetTable, limits, progress::IndexProgress};

pub(crate) struct IndexBatch {
    entries: EntryFamily,
    /// `None` removes the key.
    changes: Vec<(UserKey, Option<UserValue>)>,
    bytes: usize,
}

impl IndexBatch {
    pub(crate) fn len(&self) -> usize {
        self.changes.len()
    }

    pub(crate) fn insert(&mut self, key: &[u8], value: &[u8]) {
        self.bytes += key.len() + value.len();
        self.changes.push((key.into(), Some(value.into())));
    }

    pub(crate) fn remove(&mut self, key: &[u8]) {
        self.bytes += key.len();
        self.changes.push((key.into(), None));
    }

    pub(crate) fn put_progress(&mut self, progress: &IndexProgress) -> Result<(), DatabaseFault> {
        self.put(PROGRESS, progress)
    }

    pub(crate) fn put_assets(&mut self, assets: &AssetTable) -> Result<(), DatabaseFault> {
        self.put(ASSETS, &assets.list())
    }

    /// Stores the state of an import, which this module does not interpret.
    pub(crate) fn put_import(&mut self, note: &impl Serialize) -> Result<(), DatabaseFault> {
        self.put(IMPORT, note)
    }

    pub(crate) fn remove_import(&mut self) {
        self.remove(IMPORT);
    }

    fn put(&mut self, key: &[u8], value: &impl Serialize) -> Result<(), DatabaseFault> {
        let value = serde_json::to_vec(value).map_err(|error| DatabaseFault::Failed(error.to_string()))?;
        self.insert(key, &value);
        Ok(())
    }
}

impl Database {
    pub(crate) fn batch(&self, entries: &EntryFamily) -> IndexBatch {
        IndexBatch { entries: entries.clone(), changes: Vec::new(), bytes: 0 }
    }

    pub(crate) fn commit(&self, batch: IndexBatch) -> Result<(), DatabaseFault> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(DatabaseFault::Stopped);
        }
        self.wait_for_room(&batch.entries)?;
        let journaled =
            batch.bytes < limits::JOURNALED_BYTES && batch.entries.l0_table_count() < YOUNG_TABLES_BESIDE_JOURNAL;
        if journaled { self.by_journal(batch) } else { self.as_table(batch) }
    }

    fn by_journal(&self, batch: IndexBatch) -> Result<(), DatabaseFault> {
        let mut changes = self.inner.batch();
        for (key, value) in batch.changes {
            match value {
                Some(value) => changes.insert(&batch.entries, key, value),
                None => changes.remove(&batch.entries, key),
            }
        }
        Ok(changes.commit()?)
    }

    fn as_table(&self, batch: IndexBatch) -> Result<(), DatabaseFault> {
        let IndexBatch { entries, mut changes, .. } = batch;
        changes.sort_by(|(one, _), (next, _)| one.cmp(next));
        // Each key occurs once in a table: the last change wins.
        changes.dedup_by(|(key, value), (before, kept)| {
            let same = key == before;
            if same {
                std::mem::swap(value, kept);
            }
            same
        });
        // Flush the table in memory first, if the database counts it as written.
        entries.rotate_memtable()?;
        self.wait_for_room(&entries)?;
        let write = || {
            let mut table = entries.start_ingestion()?;
            for (key, value) in changes {
                match value {
                    Some(value) => table.write(key, value)?,
                    None => table.write_tombstone(key)?,
                }
            }
            table.finish()
        };
        // Reopening the database removes a half-written table.
        write().inspect_err(|_| self.stopped.store(true, Ordering::Relaxed)).map_err(DatabaseFault::from)
    }
}
