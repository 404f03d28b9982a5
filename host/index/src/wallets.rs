//! Streams all entries of a chain, ordered by wallet. Only one part is in memory.

use std::{collections::VecDeque, iter::FusedIterator};

use assay_domain::{Address, ChainId};
use assay_lending::Entry;

use crate::{
    Index, IndexError, IndexProgress, WalletEntries,
    codec::{EntryKey, decode},
    folder::{Database, DatabaseFault},
};

/// Segments per read.
const PART: usize = 4_096;

/// The entries of each wallet in one or all markets, ordered by wallet and market.
#[derive(Debug)]
pub struct Wallets {
    index: Index,
    chain: ChainId,
    /// `None` for all markets.
    market: Option<u16>,
    progress: IndexProgress,
    through: u64,
    /// The last wallet read.
    last: Option<Address>,
    ready: VecDeque<WalletEntries>,
    ended: bool,
}

impl Index {
    /// Streams every wallet with entries in a market, given by its index in [`IndexProgress::markets`]. All are
    /// complete through the block through which the index is complete now, even if the index grows meanwhile.
    ///
    /// # Errors
    /// [`IndexError::Unknown`], or if the folder cannot be read. The stream ends with an error if the chain is
    /// truncated or forgotten.
    pub fn wallets(&self, chain: ChainId, market: usize) -> Result<Wallets, IndexError> {
        let refused = |_| IndexError::Refused { chain, reason: format!("there is no market {market}") };
        self.stream(chain, Some(u16::try_from(market).map_err(refused)?))
    }

    /// Like [`wallets`](Self::wallets), for all markets.
    ///
    /// # Errors
    /// Those of [`wallets`](Self::wallets).
    pub fn everything(&self, chain: ChainId) -> Result<Wallets, IndexError> {
        self.stream(chain, None)
    }

    fn stream(&self, chain: ChainId, market: Option<u16>) -> Result<Wallets, IndexError> {
        let progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        let through = progress.through().ok_or(IndexError::Unknown(chain))?.number;
        let (index, ready) = (self.clone(), VecDeque::new());
        Ok(Wallets { index, chain, market, progress, through, last: None, ready, ended: false })
    }
}

impl Wallets {
    /// Returns the progress at the start of the stream. Every wallet is complete through its last block.
    pub fn progress(&self) -> &IndexProgress {
        &self.progress
    }

    /// Reads the next wallets. Returns `None` if the chain was changed.
    fn part(&self, database: &Database) -> Result<Option<WalletPart>, DatabaseFault> {
        let view = database.view();
        let same = |now: &IndexProgress| now.rewinds == self.progress.rewinds && now.asked == self.progress.asked;
        let Some((_, entries)) = view.progress(self.chain)?.filter(same).zip(view.entries(self.chain)) else {
            return Ok(None);
        };
        let assets = view.assets(self.chain)?;
        let mut part = WalletPart { ready: VecDeque::new(), last: self.last, ended: true };
        let start = self.last.map(EntryKey::after);
        for (count, item) in view.after(&entries, start.as_ref().map(<[u8; 27]>::as_slice)).enumerate() {
            let (key, value) = item?;
            let key = EntryKey::read(&key).ok_or(DatabaseFault::Entry)?;
            if count >= PART && part.last != Some(key.wallet) {
                part.ended = false;
                break;
            }
            part.last = Some(key.wallet);
            if key.block <= self.through && self.market.is_none_or(|market| market == key.market) {
                part.add(key, decode(&value, key.block, &assets).ok_or(DatabaseFault::Entry)?);
            }
        }
        Ok(Some(part))
    }
}

struct WalletPart {
    ready: VecDeque<WalletEntries>,
    last: Option<Address>,
    /// Whether there are no more.
    ended: bool,
}

impl WalletPart {
    fn add(&mut self, key: EntryKey, mut entries: Vec<Entry>) {
        let (wallet, market) = (key.wallet, usize::from(key.market));
        match self.ready.back_mut().filter(|last| (last.wallet, last.market) == (wallet, market)) {
            Some(last) => {
                let later = last.entries.last().map(|entry| entry.block) <= entries.first().map(|entry| entry.block);
                last.entries.append(&mut entries);
                if !later {
                    // Entries were added later to blocks that were already read.
                    last.entries.sort_by_key(|entry| entry.block);
                }
            }
            None => self.ready.push_back(WalletEntries { wallet, market, entries }),
        }
    }
}

impl Iterator for Wallets {
    type Item = Result<WalletEntries, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended {
            let part = self.index.read(|database| self.part(database));
            match part.and_then(|part| part.ok_or(IndexError::Changed { chain: self.chain })) {
                Ok(part) => (self.ready, self.last, self.ended) = (part.ready, part.last, part.ended),
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}

impl FusedIterator for Wallets {}
