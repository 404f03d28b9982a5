//! The actions of one wallet in one market: order, parts and storage.

use assay_domain::Address;
use assay_lending::{Entry, What};

use crate::{
    codec::{AssetTable, EntryKey, encode},
    folder::{DatabaseFault, IndexBatch},
    limits,
    progress::IndexProgress,
};

/// The actions of one wallet in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntries {
    pub wallet: Address,
    /// The market's index in [`IndexProgress::markets`].
    pub market: usize,
    /// Entries of the same block keep their order.
    pub entries: Vec<Entry>,
}

/// Returns the number of entries, and how many of them are events.
pub(crate) fn count<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> (u64, u64) {
    entries
        .into_iter()
        .fold((0, 0), |(all, events), entry| (all + 1, events + u64::from(matches!(entry.what, What::Event { .. }))))
}

/// Merges `items` into one per wallet and market, in key order, with entries in block order.
pub(crate) fn sorted(mut items: Vec<WalletEntries>) -> Vec<WalletEntries> {
    items.retain(|item| !item.entries.is_empty());
    items.sort_by_key(|item| (item.wallet, item.market));
    items.dedup_by(|next, item| {
        let same = (next.wallet, next.market) == (item.wallet, item.market);
        if same {
            item.entries.append(&mut next.entries);
        }
        same
    });
    for item in &mut items {
        item.entries.sort_by_key(|entry| entry.block);
    }
    items
}

/// Splits `item` at the checkpoints, so a truncation removes whole parts.
pub(crate) fn pieces(progress: &IndexProgress, item: &WalletEntries) -> Vec<WalletEntries> {
    let &WalletEntries { wallet, market, ref entries } = item;
    let place = |block: u64| progress.checkpoints.partition_point(|checkpoint| checkpoint.number < block);
    let mut length = 1;
    let chunks = entries.chunk_by(|a, b| {
        let same = a.block == b.block || (length < limits::ENTRIES_PER_VALUE && place(a.block) == place(b.block));
        length = if same { length + 1 } else { 1 };
        same
    });
    chunks.map(|entries| WalletEntries { wallet, market, entries: entries.to_vec() }).collect()
}

/// Adds to `batch` the entries of a wallet in a market in one segment.
pub(crate) fn insert(
    batch: &mut IndexBatch,
    item: &WalletEntries,
    assets: &mut AssetTable,
) -> Result<(), DatabaseFault> {
    if let Some(key) = key(item)? {
        batch.insert(&key.bytes(), &encode(&item.entries, assets));
    }
    Ok(())
}

/// Returns the key of `item`, whose entries are of one segment, or `None` if it has none.
pub(crate) fn key(item: &WalletEntries) -> Result<Option<EntryKey>, DatabaseFault> {
    let market = u16::try_from(item.market).map_err(|error| DatabaseFault::Failed(error.to_string()))?;
    Ok(item.entries.first().map(|first| EntryKey { wallet: item.wallet, market, block: first.block }))
}
