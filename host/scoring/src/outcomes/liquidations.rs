//! Who was liquidated when, from the index of markets.

use std::{collections::HashMap, ops::Range};

use assay_chain::Chains;
use assay_domain::{Address, ChainId};
use assay_index::Index;
use assay_lending::{EventKind, What};

/// Why there is nothing to join with.
#[derive(Debug, thiserror::Error)]
pub enum Unindexed {
    #[error("there is no index of markets, which knows who was liquidated: set reading.index = \"on\"")]
    NoIndex,
    #[error("the index of chain {0} has no block yet")]
    Unread(ChainId),
    #[error("the index or its chain cannot be read: {0}")]
    Index(String),
}

/// The moments of liquidations by wallet, in Unix seconds.
#[derive(Debug, Clone, Default)]
pub struct Liquidations {
    by_wallet: HashMap<Address, Vec<u64>>,
    /// Every chain's index is complete up to this moment.
    pub until: u64,
}

impl Liquidations {
    /// Those of `wallets` on `chains`. Blocks on the disk.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn of(index: &Index, chains: &[ChainId], wallets: &[Address], until: u64) -> Result<Self, Unindexed> {
        let mut by_wallet = HashMap::new();
        for wallet in wallets {
            let moments = moments(index, chains, *wallet).map_err(Unindexed::Index)?;
            if !moments.is_empty() {
                by_wallet.insert(*wallet, moments);
            }
        }
        Ok(Self { by_wallet, until })
    }

    #[cfg(test)]
    pub fn given(by_wallet: HashMap<Address, Vec<u64>>, until: u64) -> Self {
        Self { by_wallet, until }
    }

    /// Whether `wallet` was liquidated within `time`.
    pub fn has(&self, wallet: Address, time: &Range<u64>) -> bool {
        self.by_wallet.get(&wallet).is_some_and(|moments| moments.iter().any(|moment| time.contains(moment)))
    }
}

/// When `wallet` was liquidated on `chains`, in any indexed market. Blocks on the disk.
///
/// # Errors
/// The index cannot be read.
pub fn moments(index: &Index, chains: &[ChainId], wallet: Address) -> Result<Vec<u64>, String> {
    let mut found = Vec::new();
    for chain in chains {
        let history = index.history(*chain, wallet).map_err(|error| error.to_string())?;
        let entries = history.iter().flat_map(|history| history.entries.iter().flatten());
        found.extend(entries.filter_map(|entry| match entry.what {
            What::Event { kind: EventKind::Liquidation, time } => Some(time),
            _ => None,
        }));
    }
    Ok(found)
}

/// The time of the last block that is in the index of `chain`; `None` if it has none.
///
/// # Errors
/// The index cannot be read, or the chain does not answer.
pub async fn through(index: &Index, chains: &Chains, chain: ChainId) -> Result<Option<u64>, String> {
    let progress = index.progress(chain).map_err(|error| error.to_string())?;
    let through = progress.and_then(|progress| progress.through());
    let (Some(through), Some(client)) = (through, chains.client(chain)) else { return Ok(None) };
    let block = client.block(through.number).await.map_err(|error| error.to_string())?;
    Ok(block.map(|block| block.time))
}

/// The moment up to which the index of every chain of `of` is complete.
///
/// # Errors
/// [`Unindexed::Unread`] for the first chain without one.
pub async fn known_until(index: &Index, chains: &Chains, of: &[ChainId]) -> Result<u64, Unindexed> {
    let mut until = u64::MAX;
    for chain in of {
        let found = through(index, chains, *chain).await.map_err(Unindexed::Index)?;
        until = until.min(found.ok_or(Unindexed::Unread(*chain))?);
    }
    if of.is_empty() { Err(Unindexed::NoIndex) } else { Ok(until) }
}
