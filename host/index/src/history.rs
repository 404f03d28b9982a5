//! The history of one wallet.

use assay_domain::{Address, ChainId};
use assay_lending::Entry;

use crate::{
    Index, IndexError, IndexProgress,
    codec::{AssetTable, EntryKey, decode},
    folder::{Database, DatabaseFault},
};

/// The actions of a wallet on a chain, through [`IndexProgress::through`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct History {
    pub progress: IndexProgress,
    /// One list for each of [`IndexProgress::markets`], in block order.
    pub entries: Vec<Vec<Entry>>,
}

impl Index {
    /// Returns the history of a wallet in one read, or `None` if no block of the chain is indexed. A wallet that
    /// is not in the index did nothing in the indexed markets through [`IndexProgress::through`].
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn history(&self, chain: ChainId, wallet: Address) -> Result<Option<History>, IndexError> {
        self.read(|database| history(database, chain, wallet))
    }
}

fn history(database: &Database, chain: ChainId, wallet: Address) -> Result<Option<History>, DatabaseFault> {
    let view = database.view();
    let Some((progress, keyspace)) = view.progress(chain)?.zip(view.entries(chain)) else { return Ok(None) };
    let Some(through) = progress.through() else { return Ok(None) };
    let assets = view.assets(chain)?;
    let mut entries = vec![Vec::new(); progress.markets.len()];
    for item in view.prefix(&keyspace, wallet.as_slice()) {
        let (key, value) = item?;
        let (key, mut found) = unpack(&key, &value, &assets)?;
        // A truncation has yet to remove higher blocks.
        if key.block <= through.number {
            let to = entries.get_mut(usize::from(key.market)).ok_or(DatabaseFault::Entry)?;
            to.append(&mut found);
        }
    }
    for entries in entries.iter_mut().filter(|entries| !entries.is_sorted_by_key(|entry| entry.block)) {
        // Entries were added later to blocks that were already read.
        entries.sort_by_key(|entry| entry.block);
    }
    Ok(Some(History { progress: IndexProgress { rewinding: false, ..progress }, entries }))
}

/// The key and the entries of one segment.
pub(crate) fn unpack(key: &[u8], value: &[u8], assets: &AssetTable) -> Result<(EntryKey, Vec<Entry>), DatabaseFault> {
    let key = EntryKey::read(key).ok_or(DatabaseFault::Entry)?;
    let entries = decode(value, key.block, assets).ok_or(DatabaseFault::Entry)?;
    Ok((key, entries))
}
