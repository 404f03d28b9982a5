//! What one wallet did in one market: its order, its parts, and how it is kept.

use assay_domain::Address;
use assay_lending::{Entry, What};

use crate::{
    codec::{Assets, Key, encode},
    folder::{Batch, Fault},
    progress::Progress,
};

/// The most entries that are kept as one value, unless more are of one block.
const MOST: usize = 1_000;

/// What one wallet did in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalletEntries {
    pub wallet: Address,
    /// The market's index in [`Progress::markets`].
    pub market: usize,
    /// Entries of one block keep their order.
    pub entries: Vec<Entry>,
}

/// Entries, and how many of them are events.
pub(crate) fn count<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> (u64, u64) {
    entries
        .into_iter()
        .fold((0, 0), |(all, events), entry| (all + 1, events + u64::from(matches!(entry.what, What::Event { .. }))))
}

/// One item for each wallet and market, in the order of keys, with entries in the order of blocks.
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

/// Parts of `item` that lie between two checkpoints each, so that a truncation removes whole ones.
pub(crate) fn pieces(progress: &Progress, item: &WalletEntries) -> Vec<WalletEntries> {
    let &WalletEntries { wallet, market, ref entries } = item;
    let place = |block: u64| progress.checkpoints.partition_point(|checkpoint| checkpoint.number < block);
    let mut length = 1;
    let chunks = entries.chunk_by(|a, b| {
        let same = a.block == b.block || (length < MOST && place(a.block) == place(b.block));
        length = if same { length + 1 } else { 1 };
        same
    });
    chunks.map(|entries| WalletEntries { wallet, market, entries: entries.to_vec() }).collect()
}

/// Adds to `batch` what one segment says of a wallet in a market.
pub(crate) fn insert(batch: &mut Batch, item: &WalletEntries, assets: &mut Assets) -> Result<(), Fault> {
    if let Some(key) = key(item)? {
        batch.insert(&key.bytes(), &encode(&item.entries, assets));
    }
    Ok(())
}

/// The key of `item`, whose entries are of one segment; `None` if it has none.
pub(crate) fn key(item: &WalletEntries) -> Result<Option<Key>, Fault> {
    let market = u16::try_from(item.market).map_err(|error| Fault::Failed(error.to_string()))?;
    Ok(item.entries.first().map(|first| Key { wallet: item.wallet, market, block: first.block }))
}
