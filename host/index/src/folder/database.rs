//! The database: one keyspace per chain, with its entries and two records, the progress and the assets. Since both are
//! in one keyspace, the progress never claims more than the entries, whatever is lost. Memory is bounded: each chain
//! being written holds few tables of [`TABLE_BYTES`], and all chains share one cache.

use std::{
    fs,
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use assay_domain::ChainId;
use assay_lending::Asset;
use fjall::{
    AbstractTree as _, CompressionType, Keyspace, KeyspaceCreateOptions, PersistMode, Readable as _, Snapshot, UserKey,
    UserValue,
    compaction::Leveled,
    config::{BlockSizePolicy, CompressionPolicy, FilterPolicy, RestartIntervalPolicy},
};
use serde::de::DeserializeOwned;

use super::database_fault::DatabaseFault;
use crate::{codec::AssetTable, progress::IndexProgress};

/// Cache for blocks that were read.
const CACHE_BYTES: u64 = 32 << 20;
/// Entries of a chain in memory before they are written as a table.
const TABLE_BYTES: u64 = 16 << 20;
/// Maximum entries in memory over all chains, in bytes. Above it, a write flushes its chain's table early.
const MEMORY_BYTES: u64 = 64 << 20;
/// Minimum size of a table that is flushed early.
const EARLY_BYTES: u64 = 2 << 20;
/// Maximum size of the journal, which holds writes not yet in a table. A restart replays it.
const JOURNAL_BYTES: u64 = 128 << 20;
/// Size of a data block before compression. A read decodes one block.
const BLOCK_BYTES: u32 = 16 << 10;
/// Maximum open files.
const FILES: usize = 128;
/// Number of young tables that start a merge. Each merge writes all entries of the chain again; until then, reading a
/// history looks into every young table.
const MERGED_TABLES: u8 = 24;
/// Number of young tables at which a writer waits for a merge.
const YOUNG_TABLES: usize = 2 * MERGED_TABLES as usize;
/// With fewer young tables, batches go through the journal. From 30 on, the database itself waits there, forever if a
/// merge fails (fjall 3.1, `check_write_halt`).
pub(super) const YOUNG_TABLES_BESIDE_JOURNAL: usize = 28;
/// Threads that write and merge tables. With two, one would use a whole core while waiting for the other's merge.
const THREADS: usize = 1;

/// The entries of one chain.
pub(crate) type EntryFamily = Keyspace;

pub(crate) struct Database {
    pub(super) inner: fjall::Database,
    /// Whether a write failed. Then no write is accepted until the database is reopened.
    pub(super) stopped: AtomicBool,
}

impl Database {
    /// Opens the database, or creates it if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Self, DatabaseFault> {
        let journal = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jnl");
        if path.exists() && !fs::read_dir(path)?.flatten().any(journal) {
            // Without its journal, the database would show no tables, as if it were new.
            return Err(DatabaseFault::Damaged("its journal is missing".into()));
        }
        let opened = panic::catch_unwind(AssertUnwindSafe(|| {
            fjall::Database::builder(path)
                .cache_size(CACHE_BYTES)
                .max_journaling_size(JOURNAL_BYTES)
                .max_cached_files(Some(FILES))
                .worker_threads(THREADS)
                .open()
        }));
        // The database verifies its bytes and then panics on contradictions.
        let inner = opened.map_err(|_| DatabaseFault::Damaged("its files contradict each other".into()))??;
        Ok(Self { inner, stopped: AtomicBool::new(false) })
    }

    /// Returns a snapshot, which later commits do not change.
    pub(crate) fn view(&self) -> View<'_> {
        View { database: self, snapshot: self.inner.snapshot() }
    }

    /// Creates an empty keyspace for a chain that has no progress yet.
    pub(crate) fn create(&self, chain: ChainId) -> Result<EntryFamily, DatabaseFault> {
        self.remove(chain)?;
        Ok(self.inner.keyspace(&name(chain), options)?)
    }

    /// Removes all data of a chain.
    pub(crate) fn remove(&self, chain: ChainId) -> Result<(), DatabaseFault> {
        match self.existing(chain) {
            Some(entries) => Ok(self.inner.delete_keyspace(entries)?),
            None => Ok(()),
        }
    }

    fn existing(&self, chain: ChainId) -> Option<EntryFamily> {
        let name = name(chain);
        self.inner.keyspace_exists(&name).then(|| self.inner.keyspace(&name, options).ok()).flatten()
    }

    /// Waits until earlier writes are in tables. The database's own wait would never end if a table cannot be written,
    /// such as on a full disk.
    pub(super) fn wait_for_room(&self, entries: &EntryFamily) -> Result<(), DatabaseFault> {
        // During a merge, the thread flushes no table.
        let open = entries.tree.active_memtable().size();
        if open > 2 * TABLE_BYTES || (open > EARLY_BYTES && self.inner.write_buffer_size() > MEMORY_BYTES) {
            entries.rotate_memtable()?;
        }
        while self.inner.outstanding_flushes() > 0 || entries.l0_table_count() >= YOUNG_TABLES {
            self.inner.persist(PersistMode::Buffer)?;
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Writes all entries of a chain into tables and merges them, to measure their size.
    #[cfg(test)]
    pub(crate) fn compact(&self, chain: ChainId) -> Result<(), DatabaseFault> {
        let Some(entries) = self.existing(chain) else { return Ok(()) };
        entries.rotate_memtable_and_wait()?;
        Ok(entries.major_compact()?)
    }
}

/// A snapshot of the database.
pub(crate) struct View<'a> {
    database: &'a Database,
    snapshot: Snapshot,
}

impl View<'_> {
    pub(crate) fn progress(&self, chain: ChainId) -> Result<Option<IndexProgress>, DatabaseFault> {
        self.get(chain, PROGRESS)
    }

    pub(crate) fn assets(&self, chain: ChainId) -> Result<AssetTable, DatabaseFault> {
        let list: Option<Vec<Asset>> = self.get(chain, ASSETS)?;
        Ok(AssetTable::new(list.unwrap_or_default()))
    }

    pub(crate) fn import<T: DeserializeOwned>(&self, chain: ChainId) -> Result<Option<T>, DatabaseFault> {
        self.get(chain, IMPORT)
    }

    /// The chains that have a keyspace.
    pub(crate) fn chains(&self) -> Vec<ChainId> {
        let names = self.database.inner.list_keyspace_names();
        names.iter().filter_map(|name| name.strip_prefix(CHAIN)?.parse().ok()).collect()
    }

    pub(crate) fn entries(&self, chain: ChainId) -> Option<EntryFamily> {
        self.database.existing(chain)
    }

    pub(crate) fn value(&self, entries: &EntryFamily, key: &[u8]) -> Result<Option<UserValue>, DatabaseFault> {
        Ok(self.snapshot.get(entries, key)?)
    }

    /// Returns the entries whose keys begin with `prefix`.
    pub(crate) fn prefix(
        &self,
        entries: &EntryFamily,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<(UserKey, UserValue), DatabaseFault>> + use<> {
        self.snapshot.prefix(entries, prefix).map(|guard| Ok(guard.into_inner()?))
    }

    /// Returns the entries after `key`, or all.
    pub(crate) fn after(
        &self,
        entries: &EntryFamily,
        key: Option<&[u8]>,
    ) -> impl Iterator<Item = Result<(UserKey, UserValue), DatabaseFault>> + use<> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = key.map_or(Unbounded, Excluded);
        let items = self.snapshot.range::<&[u8], _>(entries, (from, Unbounded)).map(|guard| Ok(guard.into_inner()?));
        items.filter(|item| !matches!(item, Ok((key, _)) if [PROGRESS, ASSETS, IMPORT].contains(&&**key)))
    }

    fn get<T: DeserializeOwned>(&self, chain: ChainId, key: &[u8]) -> Result<Option<T>, DatabaseFault> {
        let Some(keyspace) = self.entries(chain) else { return Ok(None) };
        let Some(value) = self.snapshot.get(&keyspace, key)? else { return Ok(None) };
        serde_json::from_slice(&value).map(Some).map_err(|error| DatabaseFault::Damaged(format!("a record: {error}")))
    }
}

/// Keys of records, shorter than an address.
pub(super) const PROGRESS: &[u8] = b"p";
pub(super) const ASSETS: &[u8] = b"a";
pub(super) const IMPORT: &[u8] = b"i";

const CHAIN: &str = "chain-";

fn name(chain: ChainId) -> String {
    format!("{CHAIN}{chain}")
}

/// Keys are only read in ranges, for which a filter is useless.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(TABLE_BYTES)
        .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(MERGED_TABLES)))
        .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(16))
        .filter_policy(FilterPolicy::disabled())
}
