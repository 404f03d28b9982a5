//! The database: a keyspace for each chain, with its entries and two records: the progress and the assets. One keyspace
//! has both, so that whatever is lost, the progress never says more than the entries. Memory is bounded: a chain that
//! is written holds few tables of [`TABLE_BYTES`], and all share one cache.

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

use super::fault::Fault;
use crate::{codec::Assets, progress::Progress};

/// Blocks that were read.
const CACHE_BYTES: u64 = 32 << 20;
/// Entries of a chain that are in memory before they become a file.
const TABLE_BYTES: u64 = 16 << 20;
/// Most bytes of entries in memory, over all chains. Above it, a write closes the table of its chain early.
const MEMORY_BYTES: u64 = 64 << 20;
/// The smallest table that is closed early.
const EARLY_BYTES: u64 = 2 << 20;
/// Writes that are not in a table yet; a restart reads them.
const JOURNAL_BYTES: u64 = 128 << 20;
/// A histories' block, before compression. One read decodes one block.
const BLOCK_BYTES: u32 = 16 << 10;
/// Open files.
const FILES: usize = 128;
/// Young tables of a chain that are merged together. Each merge writes all entries of the chain again, and until then a
/// history is read from each young table.
const MERGED_TABLES: u8 = 24;
/// Young tables of a chain, at which a writer waits until they are merged.
const YOUNG_TABLES: usize = 2 * MERGED_TABLES as usize;
/// With fewer young tables the journal is written. From 30 on the database itself waits there, and without an end if
/// a merge fails (fjall 3.1, `check_write_halt`).
pub(super) const YOUNG_TABLES_BESIDE_JOURNAL: usize = 28;
/// One thread writes tables and merges them: of two, one would take a whole core while it waits for the other's merge.
const THREADS: usize = 1;

/// The entries of one chain.
pub(crate) type Entries = Keyspace;

pub(crate) struct Database {
    pub(super) inner: fjall::Database,
    /// A write failed: it takes no more until it is opened again.
    pub(super) stopped: AtomicBool,
}

impl Database {
    /// Opens it, or creates it if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let journal = |entry: fs::DirEntry| entry.path().extension().is_some_and(|end| end == "jnl");
        if path.exists() && !fs::read_dir(path)?.flatten().any(journal) {
            // Without one the database shows none of its tables, as if it were new.
            return Err(Fault::Damaged("its journal is missing".into()));
        }
        let opened = panic::catch_unwind(AssertUnwindSafe(|| {
            fjall::Database::builder(path)
                .cache_size(CACHE_BYTES)
                .max_journaling_size(JOURNAL_BYTES)
                .max_cached_files(Some(FILES))
                .worker_threads(THREADS)
                .open()
        }));
        // The database checks its bytes, and asserts what it then believes.
        let inner = opened.map_err(|_| Fault::Damaged("its files contradict each other".into()))??;
        Ok(Self { inner, stopped: AtomicBool::new(false) })
    }

    /// What was committed before now. Later commits do not change it.
    pub(crate) fn view(&self) -> View<'_> {
        View { database: self, snapshot: self.inner.snapshot() }
    }

    /// The keyspace of a chain that has no progress yet, empty.
    pub(crate) fn create(&self, chain: ChainId) -> Result<Entries, Fault> {
        self.remove(chain)?;
        Ok(self.inner.keyspace(&name(chain), options)?)
    }

    /// Removes all of a chain.
    pub(crate) fn remove(&self, chain: ChainId) -> Result<(), Fault> {
        match self.existing(chain) {
            Some(entries) => Ok(self.inner.delete_keyspace(entries)?),
            None => Ok(()),
        }
    }

    fn existing(&self, chain: ChainId) -> Option<Entries> {
        let name = name(chain);
        self.inner.keyspace_exists(&name).then(|| self.inner.keyspace(&name, options).ok()).flatten()
    }

    /// Waits until earlier writes are in tables. The database itself waits without an end if a table cannot be
    /// written, such as on a full disk.
    pub(super) fn wait_for_room(&self, entries: &Entries) -> Result<(), Fault> {
        // While the thread merges, it closes no table.
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

    /// Writes all entries of a chain into tables and merges them, for a measurement of their size.
    #[cfg(test)]
    pub(crate) fn compact(&self, chain: ChainId) -> Result<(), Fault> {
        let Some(entries) = self.existing(chain) else { return Ok(()) };
        entries.rotate_memtable_and_wait()?;
        Ok(entries.major_compact()?)
    }
}

/// The database at one moment.
pub(crate) struct View<'a> {
    database: &'a Database,
    snapshot: Snapshot,
}

impl View<'_> {
    pub(crate) fn progress(&self, chain: ChainId) -> Result<Option<Progress>, Fault> {
        self.get(chain, PROGRESS)
    }

    pub(crate) fn assets(&self, chain: ChainId) -> Result<Assets, Fault> {
        let list: Option<Vec<Asset>> = self.get(chain, ASSETS)?;
        Ok(Assets::new(list.unwrap_or_default()))
    }

    pub(crate) fn import<T: DeserializeOwned>(&self, chain: ChainId) -> Result<Option<T>, Fault> {
        self.get(chain, IMPORT)
    }

    /// The chains that have a keyspace.
    pub(crate) fn chains(&self) -> Vec<ChainId> {
        let names = self.database.inner.list_keyspace_names();
        names.iter().filter_map(|name| name.strip_prefix(CHAIN)?.parse().ok()).collect()
    }

    pub(crate) fn entries(&self, chain: ChainId) -> Option<Entries> {
        self.database.existing(chain)
    }

    pub(crate) fn value(&self, entries: &Entries, key: &[u8]) -> Result<Option<UserValue>, Fault> {
        Ok(self.snapshot.get(entries, key)?)
    }

    /// The keys and values that begin with `prefix`.
    pub(crate) fn prefix(
        &self,
        entries: &Entries,
        prefix: &[u8],
    ) -> impl Iterator<Item = Result<(UserKey, UserValue), Fault>> + use<> {
        self.snapshot.prefix(entries, prefix).map(|guard| Ok(guard.into_inner()?))
    }

    /// The keys and values of entries after `key`, or all.
    pub(crate) fn after(
        &self,
        entries: &Entries,
        key: Option<&[u8]>,
    ) -> impl Iterator<Item = Result<(UserKey, UserValue), Fault>> + use<> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = key.map_or(Unbounded, Excluded);
        let items = self.snapshot.range::<&[u8], _>(entries, (from, Unbounded)).map(|guard| Ok(guard.into_inner()?));
        items.filter(|item| !matches!(item, Ok((key, _)) if [PROGRESS, ASSETS, IMPORT].contains(&&**key)))
    }

    fn get<T: DeserializeOwned>(&self, chain: ChainId, key: &[u8]) -> Result<Option<T>, Fault> {
        let Some(keyspace) = self.entries(chain) else { return Ok(None) };
        let Some(value) = self.snapshot.get(&keyspace, key)? else { return Ok(None) };
        serde_json::from_slice(&value).map(Some).map_err(|error| Fault::Damaged(format!("a record: {error}")))
    }
}

/// The keys of records, which are shorter than an address.
pub(super) const PROGRESS: &[u8] = b"p";
pub(super) const ASSETS: &[u8] = b"a";
pub(super) const IMPORT: &[u8] = b"i";

const CHAIN: &str = "chain-";

fn name(chain: ChainId) -> String {
    format!("{CHAIN}{chain}")
}

/// Keys are read in ranges only, for which a filter is of no use.
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(TABLE_BYTES)
        .compaction_strategy(Arc::new(Leveled::default().with_l0_threshold(MERGED_TABLES)))
        .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
        .data_block_compression_policy(CompressionPolicy::all(CompressionType::Lz4))
        .data_block_restart_interval_policy(RestartIntervalPolicy::all(16))
        .filter_policy(FilterPolicy::disabled())
}
