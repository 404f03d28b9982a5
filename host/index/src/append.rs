//! Writes: which markets of a chain are indexed, and the next blocks.

use alloy::primitives::Bytes;
use assay_domain::ChainId;

use crate::{
    Check, Checkpoint, Index, IndexError, IndexProgress, IndexedMarket, WalletEntries,
    codec::{MOST_BLOCK, MOST_MARKETS},
    folder::{Database, DatabaseFault},
    items::{count, insert, sorted},
};

/// The next blocks of a chain.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The first block: [`IndexProgress::next`].
    pub from: u64,
    /// The last block.
    pub through: Checkpoint,
    /// The wallets' entries in these blocks, in any order.
    pub wallets: Vec<WalletEntries>,
    pub check: Check,
}

impl Index {
    /// Sets what is indexed for a chain. Does nothing if the same was set before.
    ///
    /// # Errors
    /// [`IndexError::Otherwise`] if something else was set before: [`forget`](Self::forget) the chain first.
    pub fn begin(&self, chain: ChainId, markets: &[IndexedMarket], asked: &Bytes) -> Result<IndexProgress, IndexError> {
        let _alone = self.writing();
        if let Some(found) = self.progress(chain)? {
            let same = found.markets == markets && found.asked == *asked;
            return if same { Ok(found) } else { Err(IndexError::Otherwise { chain }) };
        }
        if markets.is_empty() || markets.len() > MOST_MARKETS {
            let reason = format!("{} markets; it takes 1 to {MOST_MARKETS}", markets.len());
            return Err(IndexError::Refused { chain, reason });
        }
        let progress = IndexProgress::new(markets.to_vec(), asked.clone());
        self.write(|database| {
            let entries = database.create(chain)?;
            let mut batch = database.batch(&entries);
            batch.put_progress(&progress)?;
            database.commit(batch)
        })?;
        Ok(progress)
    }

    /// Adds the next blocks, all or none, even if the process is killed. Adding the last segment again changes nothing.
    ///
    /// # Errors
    /// [`IndexError::NotNext`], [`IndexError::Refused`] and [`IndexError::Unknown`] change nothing. After
    /// [`IndexError::Unwritable`] the segment may be written or not: append it again, or read the progress.
    pub fn append(&self, chain: ChainId, segment: Segment) -> Result<(), IndexError> {
        let _alone = self.writing();
        self.end_truncation(chain)?;
        let before = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        if before.through() == Some(segment.through) && segment.from <= segment.through.number {
            return Ok(());
        }
        check(chain, &before, &segment)?;
        let Segment { from, through, wallets, check } = segment;
        let items = sorted(wallets);
        let (entries, events) = count(items.iter().flat_map(|item| &item.entries));
        let mut after = before;
        (after.entries, after.events) = (after.entries + entries, after.events + events);
        after.checked.add(check, (through.number - from).saturating_add(1));
        after.reach(through);
        self.write(|database| put(database, chain, &items, &after))
    }
}

fn check(chain: ChainId, before: &IndexProgress, segment: &Segment) -> Result<(), IndexError> {
    let Segment { from, through, wallets, .. } = segment;
    if *from != before.next() {
        return Err(IndexError::NotNext { chain, next: before.next(), got: *from });
    }
    let refused = |reason: String| Err(IndexError::Refused { chain, reason });
    if through.number < *from || through.number > MOST_BLOCK {
        return refused(format!("the last block is {}, the first {from}; blocks go to {MOST_BLOCK}", through.number));
    }
    for WalletEntries { wallet, market, entries } in wallets {
        if *market >= before.markets.len() {
            return refused(format!("{wallet} has entries of market {market} of {}", before.markets.len()));
        }
        if let Some(entry) = entries.iter().find(|entry| entry.block < *from || entry.block > through.number) {
            let range = format!("{from} to {}", through.number);
            return refused(format!("{wallet} has an entry of block {} among those of {range}", entry.block));
        }
    }
    Ok(())
}

fn put(
    database: &Database,
    chain: ChainId,
    items: &[WalletEntries],
    after: &IndexProgress,
) -> Result<(), DatabaseFault> {
    let view = database.view();
    let mut assets = view.assets(chain)?;
    let known = assets.list().len();
    let keyspace = view.entries(chain).ok_or(DatabaseFault::Gone)?;
    let mut batch = database.batch(&keyspace);
    for item in items {
        insert(&mut batch, item, &mut assets)?;
    }
    if assets.list().len() > known {
        batch.put_assets(&assets)?;
    }
    batch.put_progress(after)?;
    database.commit(batch)
}
