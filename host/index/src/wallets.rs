//! All wallets of a market, as a stream. Memory holds one part of it.

use std::{collections::VecDeque, iter::FusedIterator};

use assay_domain::{Address, ChainId};
use assay_lending::Entry;

use crate::{
    Checkpoint, Index, IndexError,
    codec::Key,
    folder::{Database, Fault},
    history::unpack,
};

/// Segments that are read at once.
const PART: usize = 4_096;

/// A wallet and what it did in a market, in the order of blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wallet {
    pub address: Address,
    pub entries: Vec<Entry>,
}

/// The wallets of a market, in the order of their addresses.
#[derive(Debug)]
pub struct Wallets {
    index: Index,
    chain: ChainId,
    market: u16,
    through: Checkpoint,
    rewinds: u64,
    /// The last wallet that was read.
    last: Option<Address>,
    ready: VecDeque<Wallet>,
    ended: bool,
}

impl Index {
    /// Every wallet with entries in a market: its index in [`Progress::markets`](crate::Progress::markets). All are
    /// complete through the block through which the index is now, also where it grows meanwhile.
    ///
    /// # Errors
    /// [`IndexError::Unknown`], or that the folder cannot be read. The stream ends with an error where the chain is
    /// truncated or forgotten.
    pub fn wallets(&self, chain: ChainId, market: usize) -> Result<Wallets, IndexError> {
        let progress = self.progress(chain)?.ok_or(IndexError::Unknown(chain))?;
        let through = progress.through().ok_or(IndexError::Unknown(chain))?;
        let market = u16::try_from(market)
            .map_err(|_| IndexError::Refused { chain, reason: format!("there is no market {market}") })?;
        let (index, rewinds, ready) = (self.clone(), progress.rewinds, VecDeque::new());
        Ok(Wallets { index, chain, market, through, rewinds, last: None, ready, ended: false })
    }
}

impl Wallets {
    /// The block through which every wallet is complete.
    pub fn through(&self) -> Checkpoint {
        self.through
    }

    /// Reads the next wallets. `None` where the chain was changed.
    fn part(&self, database: &Database) -> Result<Option<Part>, Fault> {
        let view = database.view();
        let progress = view.progress(self.chain)?.filter(|progress| progress.rewinds == self.rewinds);
        let Some((_, keyspace)) = progress.zip(view.entries(self.chain)) else { return Ok(None) };
        let assets = view.assets(self.chain)?;
        let mut part = Part { wallets: VecDeque::new(), last: self.last, ended: true };
        let start = self.last.map(Key::after);
        for (count, item) in view.after(&keyspace, start.as_ref().map(<[u8; 27]>::as_slice)).enumerate() {
            let (key, value) = item?;
            let (key, mut entries) = unpack(&key, &value, &assets)?;
            if count >= PART && part.last != Some(key.wallet) {
                part.ended = false;
                break;
            }
            part.last = Some(key.wallet);
            if key.market != self.market || key.block > self.through.number {
                continue;
            }
            match part.wallets.back_mut().filter(|wallet| wallet.address == key.wallet) {
                Some(wallet) => wallet.entries.append(&mut entries),
                None => part.wallets.push_back(Wallet { address: key.wallet, entries }),
            }
        }
        Ok(Some(part))
    }
}

struct Part {
    wallets: VecDeque<Wallet>,
    last: Option<Address>,
    /// There are no more.
    ended: bool,
}

impl Iterator for Wallets {
    type Item = Result<Wallet, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && !self.ended {
            let part = match self.index.read(|database| self.part(database)) {
                Ok(part) => part.ok_or(IndexError::Changed { chain: self.chain }),
                Err(error) => Err(error),
            };
            match part {
                Ok(part) => (self.ready, self.last, self.ended) = (part.wallets, part.last, part.ended),
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
