//! The owners of vaults. Ownership is stored as a share of 1, which a wallet gains and loses. The shares are summed and
//! compared with the state of the vault manager, like amounts.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{primitives::I256, rpc::types::Log};

use super::{
    alias,
    events::{FROB, Given, given},
    place,
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Alias, Hint},
        indexed::{Entry, What},
        record::Side,
        sums::{Move, Sums},
    },
    protocols::Evidence,
};
use assay_domain::B256;

/// A vault that a wallet owns or owned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Vault {
    /// Its number.
    pub id: B256,
    pub ilk: B256,
    pub urn: B256,
    pub is_owned: bool,
}

/// The words that identify a wallet in logs.
#[derive(Debug)]
pub(super) struct WalletNames {
    pub wallet: B256,
    /// The wallet and its proxy.
    accounts: BTreeSet<B256>,
    pub vaults: Vec<Vault>,
    /// Whether the wallet has aliases, which make its vaults known.
    is_known: bool,
}

impl WalletNames {
    pub(super) fn of(hints: &[Hint], wallet: B256) -> Self {
        let aliases = || hints.iter().filter_map(alias);
        let accounts = aliases().filter(|(_, of)| *of == Alias::Account).map(|(word, _)| word);
        let accounts = accounts.chain([wallet]).collect();
        let vault = |hint: &Hint| match alias(hint)? {
            (urn, Alias::Part { id, kind: ilk, is_owned }) if hint.topic0 == FROB => {
                Some(Vault { id, ilk, urn, is_owned })
            }
            _ => None,
        };
        let vaults = hints.iter().filter_map(vault).collect();
        Self { wallet, accounts, vaults, is_known: aliases().next().is_some() }
    }

    pub(super) fn is_vault(&self, id: B256) -> bool {
        self.vaults.iter().any(|vault| vault.id == id)
    }
}

/// Changes of the wallet's share in each vault.
type OwnerChanges<'a> = BTreeMap<B256, Vec<(u64, I256, Option<&'a Log>)>>;

/// The periods in which a wallet owned each vault.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    /// The shares before.
    first: BTreeMap<B256, I256>,
    /// Their changes, in chain order.
    changes: OwnerChanges<'a>,
}

impl<'a> Owners<'a> {
    pub(super) fn of(names: &WalletNames, evidence: &Evidence<'a>) -> Self {
        let mut logs: Vec<&Log> = evidence.hints.clone();
        logs.sort_by_key(|log| place(log));
        logs.dedup_by_key(|log| place(log));
        let mut owners = Self::default();
        let from = evidence.before.map_or(0, |before| before.next);
        for log in logs.into_iter().filter(|log| log.block_number.unwrap_or_default() >= from) {
            let Some(Given { id, to, is_new }) = given(log) else { continue };
            let block = log.block_number.unwrap_or_default();
            // When all wallets are read at once, a vault counts as a wallet.
            let (gains, loses) = (names.accounts.contains(&to), !is_new && (names.is_known || id == names.wallet));
            owners.first.entry(id).or_insert_with(|| evidence.before.map_or(I256::ZERO, |known| share(known.sums, id)));
            for (amount, _) in [(I256::MINUS_ONE, loses), (I256::ONE, gains)].iter().filter(|(_, is)| *is) {
                owners.add(id, block, *amount, Some(log), !names.is_known);
            }
        }
        for vault in &names.vaults {
            owners
                .first
                .entry(vault.id)
                .or_insert_with(|| evidence.before.map_or(I256::ZERO, |known| share(known.sums, vault.id)));
        }
        owners
    }

    /// Adds a change. Unless it is `raw`, losing a vault that the wallet does not have is ignored.
    fn add(&mut self, id: B256, block: u64, amount: I256, log: Option<&'a Log>, raw: bool) {
        let had = self.share(id, u64::MAX);
        if raw || (amount.is_positive() != had.is_positive()) {
            self.changes.entry(id).or_default().push((block, amount, log));
        }
    }

    /// The share after `block`.
    fn share(&self, id: B256, block: u64) -> I256 {
        let first = self.first.get(&id).copied().unwrap_or_default();
        let changes = self.changes.get(&id).into_iter().flatten().filter(|(at, ..)| *at <= block);
        changes.fold(first, |share, (_, amount, _)| share.saturating_add(*amount))
    }

    /// Whether the wallet had the vault after `block`.
    pub(super) fn had(&self, id: B256, block: u64) -> bool {
        self.share(id, block).is_positive()
    }

    pub(super) fn moves(&self) -> Vec<(Move, &'a Log)> {
        let all = self.changes.iter().flat_map(|(id, changes)| changes.iter().map(move |change| (*id, change)));
        all.filter_map(|(id, (_, amount, log))| Some((moved(id, *amount), (*log)?))).collect()
    }
}

/// The share of a wallet in a vault.
fn share(sums: &Sums, id: B256) -> I256 {
    sums.of(Side::Supply, Asset::Shares(id)).net
}

fn moved(id: B256, amount: I256) -> Move {
    Move { side: Side::Supply, asset: Asset::Shares(id), amount, fixed_rate: false }
}

/// The entries of a wallet, joined from those of its accounts, urns and vaults. `None` if an urn holds collateral of
/// another kind than its vault, which anyone can add.
pub(super) fn joined(of_words: &[(B256, &[Entry])], hints: &[Hint]) -> Option<Vec<Entry>> {
    let ((wallet, own), rest) = of_words.split_first()?;
    let names = WalletNames::of(hints, *wallet);
    let mut shares: Vec<(u64, B256, I256)> = Vec::new();
    let mut found: Vec<Entry> = own.iter().filter(|entry| given_of(entry).is_none()).copied().collect();
    for (word, entries) in of_words {
        let is_named = names.accounts.contains(word) || names.is_vault(*word);
        let of_word = entries.iter().filter(|_| is_named).filter_map(given_of);
        // An entry under the number of a vault is a change of its owner.
        shares.extend(of_word.filter(|(_, id, amount)| amount.is_positive() || id == word));
    }
    shares.sort_by_key(|(block, _, amount)| (*block, amount.is_positive()));
    let mut owners = Owners::default();
    for (block, id, amount) in shares {
        owners.add(id, block, amount, None, false);
    }
    let changes = owners.changes.iter().flat_map(|(id, changes)| changes.iter().map(move |change| (*id, change)));
    found
        .extend(changes.map(|(id, (block, amount, _))| Entry { block: *block, what: What::Moved(moved(id, *amount)) }));
    for vault in &names.vaults {
        let (_, entries) = rest.iter().find(|(word, _)| *word == vault.urn)?;
        for Entry { block, what } in entries.iter().copied() {
            match what {
                What::Moved(moved) => found.push(Entry { block, what: What::Moved(vault.renamed(moved)?) }),
                What::Event { .. } if owners.had(vault.id, block) => found.push(Entry { block, what }),
                What::Event { .. } | What::Incomplete { .. } => {}
            }
        }
    }
    found.sort_by_key(|entry| entry.block);
    Some(found)
}

/// The block, the vault and the amount of a change of its owner.
fn given_of(entry: &Entry) -> Option<(u64, B256, I256)> {
    match entry.what {
        What::Moved(Move { side: Side::Supply, asset: Asset::Shares(id), amount, .. }) => {
            Some((entry.block, id, amount))
        }
        _ => None,
    }
}

impl Vault {
    /// A move of the vault's urn, as part of the wallet's position.
    fn renamed(&self, moved: Move) -> Option<Move> {
        let asset = match moved.asset {
            Asset::Market(ilk) if ilk == self.ilk => Asset::Market(self.id),
            Asset::Shares(ilk) if ilk == self.ilk => Asset::Shares(self.id),
            _ => return None,
        };
        Some(Move { asset, ..moved })
    }
}
