//! The liquidations of wallets, from the index of markets.

use std::{collections::HashMap, ops::Range};

use assay_chain::Chains;
use assay_domain::{Address, ChainId, features::Features};
use assay_index::{History, Index};
use assay_lending::{Entry, EventKind, Move, Side, What, hides_liquidations, owes_in_vaults};

/// Why there is nothing to join with.
#[derive(Debug, thiserror::Error)]
pub enum Unindexed {
    #[error("there is no index of markets, which has the liquidations: set reading.index = \"on\"")]
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

/// Whether the index of `chains` does not have all liquidations of a wallet with these `features` under its address,
/// because it owes in vaults. A vault that is read like a wallet owes under its own address. Blocks on the disk.
///
/// # Errors
/// The index cannot be read.
pub fn are_hidden(index: &Index, chains: &[ChainId], wallet: Address, features: &Features) -> Result<bool, String> {
    if !owes_in_vaults(features) {
        return Ok(false);
    }
    for chain in chains {
        let Some(History { progress, entries }) = index.history(*chain, wallet).map_err(|error| error.to_string())?
        else {
            continue;
        };
        let of_vaults = progress.markets.iter().zip(&entries).filter(|(market, _)| hides_liquidations(market.protocol));
        let is_debt = |entry: &Entry| matches!(entry.what, What::Moved(Move { side: Side::Debt, .. }));
        if of_vaults.flat_map(|(_, entries)| entries).any(is_debt) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// When `wallet` was liquidated on `chains`, in any indexed market. Its vaults are not found: see
/// [`are_hidden`]. Blocks on the disk.
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::{B256, Protocol};
    use assay_index::{Check, Checkpoint, IndexedMarket, Segment, WalletEntries};
    use assay_lending::Asset;

    #[test]
    fn liquidations_are_hidden_from_the_owner_of_a_vault_and_not_from_the_vault() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::open(folder.path()).unwrap();
        let [owner, vault, vat] = [1, 2, 3].map(Address::repeat_byte);
        let market = IndexedMarket { protocol: Protocol::MakerVaults, address: vat, from: 1 };
        index.begin(1, &[market], &Default::default()).unwrap();
        let asset = Asset::Shares(B256::repeat_byte(4));
        let moved = |side, amount: i64| {
            let amount = amount.try_into().unwrap();
            What::Moved(Move { side, asset, amount, fixed_rate: false })
        };
        let item = |wallet, what: &[What]| {
            let entries = what.iter().map(|what| Entry { block: 5, what: *what }).collect();
            WalletEntries { wallet, market: 0, entries }
        };
        let grabbed = [What::Event { kind: EventKind::Liquidation, time: 60 }, moved(Side::Debt, -7)];
        let wallets = vec![item(owner, &[moved(Side::Supply, 1)]), item(vault, &grabbed)];
        let through = Checkpoint { number: 9, hash: B256::ZERO };
        index.append(1, Segment { from: 1, through, wallets, check: Check::None }).unwrap();

        let mut features = assay_registry::measure::typical();
        let hidden = |wallet, features: &Features| are_hidden(&index, &[1], wallet, features).unwrap();
        assert!(!hidden(owner, &features), "its debt is in no vault");
        let market = &mut features.markets[0];
        (market.protocol, market.borrowed_usd) = ("maker_vaults".to_owned(), 50.0);
        assert!(hidden(owner, &features) && moments(&index, &[1], owner).unwrap().is_empty());
        assert!(!hidden(vault, &features));
        assert_eq!(moments(&index, &[1], vault).unwrap(), [60]);
    }
}
