//! Adds earlier blocks of something new: a market, or a contract whose logs concern a market.

use alloy::primitives::Bytes;
use assay_domain::ChainId;

use crate::{
    Index, IndexError, IndexProgress, IndexedMarket, WalletEntries,
    codec::{MOST_MARKETS, decode},
    folder::{Database, DatabaseFault},
    items::{count, insert, key, pieces, sorted},
};

impl Index {
    /// Extends what is indexed for a chain, and adds the corresponding entries of blocks that are already indexed.
    /// Markets can only be added at the end of the list. All or nothing is done, even if the process is killed;
    /// repeating the call changes nothing.
    ///
    /// `earlier` contains only entries that the index does not have, through [`IndexProgress::through`].
    ///
    /// # Errors
    /// Those of [`append`](Self::append); [`IndexError::Refused`] if a market is missing or different.
    pub fn widen(
        &self,
        chain: ChainId,
        markets: &[IndexedMarket],
        asked: &Bytes,
        earlier: Vec<WalletEntries>,
    ) -> Result<IndexProgress, IndexError> {
        let _alone = self.writing();
        self.end_truncation(chain)?;
        let mut progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        if progress.asked == *asked && progress.markets == markets {
            return Ok(progress);
        }
        let refused = |reason: &str| IndexError::Refused { chain, reason: reason.into() };
        if !markets.starts_with(&progress.markets) || markets.len() > MOST_MARKETS {
            return Err(refused("the markets do not begin with those that the index has"));
        }
        let last = progress.through().map(|through| through.number);
        let fits = |item: &WalletEntries| {
            item.market < markets.len() && item.entries.iter().all(|entry| Some(entry.block) <= last)
        };
        if !earlier.iter().all(fits) {
            return Err(refused("they are of another market, or above what the index has"));
        }
        let pieces: Vec<_> = sorted(earlier).iter().flat_map(|item| pieces(&progress, item)).collect();
        let (entries, events) = count(pieces.iter().flat_map(|piece| &piece.entries));
        (progress.entries, progress.events) = (progress.entries + entries, progress.events + events);
        (progress.markets, progress.asked) = (markets.to_vec(), asked.clone());
        self.write(|database| add(database, chain, &pieces, &progress))?;
        Ok(progress)
    }
}

impl Index {
    /// Records that `asked` has every contract that the markets listed through the block `listed`.
    ///
    /// # Errors
    /// [`IndexError::Unknown`]; [`IndexError::Unwritable`] changes nothing.
    pub fn list(&self, chain: ChainId, listed: u64) -> Result<IndexProgress, IndexError> {
        let _alone = self.writing();
        let mut progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        if progress.listed < listed {
            progress.listed = listed;
            self.write(|database| {
                let entries = database.view().entries(chain).ok_or(DatabaseFault::Gone)?;
                let mut batch = database.batch(&entries);
                batch.put_progress(&progress)?;
                database.commit(batch)
            })?;
        }
        Ok(progress)
    }
}

fn add(
    database: &Database,
    chain: ChainId,
    pieces: &[WalletEntries],
    progress: &IndexProgress,
) -> Result<(), DatabaseFault> {
    let view = database.view();
    let (mut assets, keyspace) = (view.assets(chain)?, view.entries(chain).ok_or(DatabaseFault::Gone)?);
    let mut batch = database.batch(&keyspace);
    for piece in pieces {
        let Some(key) = key(piece)? else { continue };
        let mut piece = piece.clone();
        if let Some(value) = view.value(&keyspace, &key.bytes())? {
            let there = decode(&value, key.block, &assets).ok_or(DatabaseFault::Entry)?;
            piece.entries.splice(..0, there);
            piece.entries.sort_by_key(|entry| entry.block);
        }
        insert(&mut batch, &piece, &mut assets)?;
    }
    batch.put_assets(&assets)?;
    batch.put_progress(progress)?;
    database.commit(batch)
}
