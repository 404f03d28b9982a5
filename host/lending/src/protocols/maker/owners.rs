//! The owners of vaults and of proxies. Ownership is stored as a share of 1, which a wallet gains and loses. The shares
//! are summed and compared with the state, like amounts.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{primitives::I256, rpc::types::Log};

use super::{
    alias,
    events::{EXECUTED, FROB, GRAB, Given, NEW_OWNER, given},
    parts::{held_by, urn_of, vault},
    place,
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Alias, Hint, Naming},
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
    /// The account that has it now.
    pub holder: Option<B256>,
}

/// The words that identify a wallet in logs.
#[derive(Debug)]
pub(super) struct WalletNames {
    pub wallet: B256,
    /// The wallet and its proxies.
    pub accounts: BTreeSet<B256>,
    /// The proxies that the wallet has only since a log that names it.
    received: BTreeSet<B256>,
    pub vaults: Vec<Vault>,
    /// The contracts that settle vaults after a shutdown.
    pub ends: Vec<B256>,
    /// Whether the wallet has aliases, which make its vaults known.
    is_known: bool,
}

impl WalletNames {
    pub(super) fn of(hints: &[Hint], wallet: B256) -> Self {
        let aliases = || hints.iter().filter_map(alias);
        let accounts = |kind| aliases().filter(move |(_, of)| *of == kind).map(|(word, _)| word);
        let received: BTreeSet<B256> = accounts(Alias::Received).collect();
        let accounts = accounts(Alias::Account).chain(received.iter().copied()).chain([wallet]).collect();
        let vault = |hint: &Hint| match alias(hint)? {
            (urn, Alias::Part { id, kind: ilk, holder }) if hint.topic0 == FROB => Some(Vault { id, ilk, urn, holder }),
            _ => None,
        };
        let end = |hint: &Hint| match hint.naming {
            Naming::Never { word, .. } if hint.topic0 == GRAB => Some(word),
            _ => None,
        };
        let (vaults, ends) = (hints.iter().filter_map(vault).collect(), hints.iter().filter_map(end).collect());
        Self { wallet, accounts, received, vaults, ends, is_known: aliases().next().is_some() }
    }

    pub(super) fn is_vault(&self, id: B256) -> bool {
        self.vaults.iter().any(|vault| vault.id == id)
    }

    /// Whether the account was the wallet's from the beginning.
    fn is_first(&self, account: B256) -> bool {
        self.accounts.contains(&account) && !self.received.contains(&account)
    }

    /// The id of a vault as an account has it.
    fn held_by(&self, vault: B256, account: B256) -> B256 {
        held_by(vault, account, self.wallet)
    }
}

/// Changes of the wallet's share in each vault and proxy.
type OwnerChanges<'a> = BTreeMap<B256, Vec<(u64, I256, Option<&'a Log>)>>;

/// The periods in which a wallet owned each vault, by its accounts, and each proxy.
#[derive(Debug, Default)]
pub(super) struct Owners<'a> {
    /// The shares before, by the id of the part.
    first: BTreeMap<B256, I256>,
    /// Their changes, in chain order.
    changes: OwnerChanges<'a>,
}

impl<'a> Owners<'a> {
    pub(super) fn of(names: &WalletNames, evidence: &Evidence<'a>) -> Self {
        let mut logs: Vec<&Log> = evidence.hints.clone();
        logs.sort_by_key(|log| place(log));
        logs.dedup_by_key(|log| place(log));
        let first = evidence.before.map(|before| shares(before.sums)).unwrap_or_default();
        let mut owners = Self { first, ..Self::default() };
        let from = evidence.before.map_or(0, |before| before.next);
        for log in logs.into_iter().filter(|log| log.block_number.unwrap_or_default() >= from) {
            let block = log.block_number.unwrap_or_default();
            if log.topics() == [NEW_OWNER, names.wallet] {
                owners.add(log.address().into_word(), block, I256::ONE, Some(log));
            } else if is_use(log, names.wallet) {
                owners.used(names, log.address().into_word(), block, Some(log));
            } else if let Some(given) = given(log) {
                if names.is_known {
                    owners.pass_on(names, given, block, Some(log));
                } else {
                    owners.give(names, given, block, log);
                }
            }
        }
        owners
    }

    /// Adds a use of a proxy by the wallet, which shows the proxy even if the log of its new owner is missing.
    fn used(&mut self, names: &WalletNames, proxy: B256, block: u64, log: Option<&'a Log>) {
        if !names.is_first(proxy) && !self.changes.contains_key(&proxy) {
            self.add(proxy, block, I256::ZERO, log);
        }
    }

    /// Adds a change of a vault's owner for a wallet whose vaults are not known. When all wallets are read at once, a
    /// vault counts as a wallet, and the account that gave a vault away has a move of nothing.
    fn give(&mut self, names: &WalletNames, Given { id, by, to }: Given, block: u64, log: &'a Log) {
        let changes = [
            (I256::ZERO, by == Some(names.wallet)),
            (I256::MINUS_ONE, by.is_some() && id == names.wallet),
            (I256::ONE, to == names.wallet),
        ];
        changes.iter().filter(|(_, is)| *is).for_each(|(amount, _)| self.add(id, block, *amount, Some(log)));
    }

    /// Adds a change of a vault's owner. If an account gives a vault away that none has, a log is missing, and the
    /// share becomes negative. If the wallet gets a vault back that it has, the log by which it gave the vault away is
    /// missing, and the state contradicts the share, which is too large.
    fn pass_on(&mut self, names: &WalletNames, given: Given, block: u64, log: Option<&'a Log>) {
        let Given { id, by, to } = given;
        self.give_away(names, (id, by), block, log);
        // Until the next read, which knows the vault, the state contradicts the share.
        let is_known = names.is_vault(id) || names.accounts.contains(&to);
        let is_got_back = names.accounts.contains(&to) && by.is_some_and(|by| !names.accounts.contains(&by));
        for account in names.accounts.iter().filter(|_| by.is_some() && is_known && !is_got_back) {
            let held = names.held_by(id, *account);
            if self.share(held, u64::MAX).is_positive() {
                self.add(held, block, I256::MINUS_ONE, log);
            }
        }
        if names.accounts.contains(&to) {
            self.add(names.held_by(id, to), block, I256::ONE, log);
        }
    }

    /// Adds that `by` gave a vault away, if it is an account of the wallet and none has the vault.
    fn give_away(&mut self, names: &WalletNames, (id, by): (B256, Option<B256>), block: u64, log: Option<&'a Log>) {
        let Some(by) = by.filter(|by| names.accounts.contains(by)) else { return };
        let has = |account: &B256| self.share(names.held_by(id, *account), u64::MAX).is_positive();
        if !names.accounts.iter().any(has) {
            self.add(names.held_by(id, by), block, I256::MINUS_ONE, log);
        }
    }

    fn add(&mut self, part: B256, block: u64, amount: I256, log: Option<&'a Log>) {
        self.changes.entry(part).or_default().push((block, amount, log));
    }

    /// The share after `block`.
    fn share(&self, part: B256, block: u64) -> I256 {
        let first = self.first.get(&part).copied().unwrap_or_default();
        let changes = self.changes.get(&part).into_iter().flatten().filter(|(at, ..)| *at <= block);
        changes.fold(first, |share, (_, amount, _)| share.saturating_add(*amount))
    }

    /// Whether the account was the wallet's after `block`.
    pub(super) fn had_account(&self, names: &WalletNames, account: B256, block: u64) -> bool {
        !names.received.contains(&account) || self.share(account, block).is_positive()
    }

    /// Whether the wallet had the vault after `block`, itself or by an account.
    pub(super) fn had(&self, names: &WalletNames, vault: B256, block: u64) -> bool {
        names.accounts.iter().any(|account| {
            self.share(names.held_by(vault, *account), block).is_positive() && self.had_account(names, *account, block)
        })
    }

    pub(super) fn moves(&self) -> Vec<(Move, &'a Log)> {
        let all = self.changes.iter().flat_map(|(id, changes)| changes.iter().map(move |change| (*id, change)));
        all.filter_map(|(id, (_, amount, log))| Some((moved(id, *amount), (*log)?))).collect()
    }
}

/// Whether `log` is that of a proxy which `wallet` called.
fn is_use(log: &Log, wallet: B256) -> bool {
    matches!(log.topics(), [topic0, caller, ..] if EXECUTED.contains(topic0) && *caller == wallet)
}

/// The shares of a wallet in vaults and proxies.
fn shares(sums: &Sums) -> BTreeMap<B256, I256> {
    let share = |id: B256| sums.of(Side::Supply, Asset::Shares(id)).net;
    sums.markets().into_iter().map(|id| (id, share(id))).filter(|(_, share)| !share.is_zero()).collect()
}

fn moved(id: B256, amount: I256) -> Move {
    Move { side: Side::Supply, asset: Asset::Shares(id), amount, fixed_rate: false }
}

/// The entries of a wallet, joined from those of its accounts, urns and vaults. `None` if an urn holds collateral of
/// another kind than its vault, which anyone can add, or if the wallet got a vault back that it has.
pub(super) fn joined(of_words: &[(B256, &[Entry])], hints: &[Hint]) -> Option<Vec<Entry>> {
    let ((wallet, own), rest) = of_words.split_first()?;
    let names = WalletNames::of(hints, *wallet);
    let mut found: Vec<Entry> = own.iter().filter(|entry| given_of(entry).is_none()).copied().collect();
    let owners = joined_owners(&names, of_words)?;
    let changes = owners.changes.iter().flat_map(|(id, changes)| changes.iter().map(move |change| (*id, change)));
    found
        .extend(changes.map(|(id, (block, amount, _))| Entry { block: *block, what: What::Moved(moved(id, *amount)) }));
    let entries_of = |word: B256| rest.iter().find(|(known, _)| *known == word).map(|(_, entries)| *entries);
    for vault in &names.vaults {
        for Entry { block, what } in entries_of(vault.urn)?.iter().copied() {
            match what {
                What::Moved(moved) => found.push(Entry { block, what: What::Moved(vault.renamed(moved)?) }),
                What::Event { .. } if owners.had(&names, vault.id, block) => found.push(Entry { block, what }),
                What::Event { .. } | What::Incomplete { .. } => {}
            }
        }
    }
    for account in names.accounts.iter().filter(|account| **account != names.wallet) {
        let entries = entries_of(*account)?.iter().filter(|entry| given_of(entry).is_none());
        for Entry { block, what } in entries.copied() {
            match what {
                What::Moved(moved) => {
                    let asset = match moved.asset {
                        Asset::Market(ilk) => Asset::Market(urn_of(ilk, *account, names.wallet)),
                        Asset::Shares(ilk) => Asset::Shares(urn_of(ilk, *account, names.wallet)),
                        other => other,
                    };
                    found.push(Entry { block, what: What::Moved(Move { asset, ..moved }) });
                }
                What::Event { .. } if owners.had_account(&names, *account, block) => found.push(Entry { block, what }),
                What::Event { .. } | What::Incomplete { .. } => {}
            }
        }
    }
    found.sort_by_key(|entry| entry.block);
    Some(found)
}

/// The owners by the entries of the accounts, which gain, and of the vaults, which are lost. `None` if the wallet got a
/// vault back that it has.
fn joined_owners(names: &WalletNames, of_words: &[(B256, &[Entry])]) -> Option<Owners<'static>> {
    let (mut owners, mut given) = (Owners::default(), Vec::new());
    for (word, entries) in of_words {
        let (is_account, is_vault) = (names.accounts.contains(word), names.is_vault(*word));
        for (block, id, amount) in entries.iter().filter_map(given_of) {
            match vault(id) {
                None if *word == names.wallet && amount.is_zero() => owners.used(names, id, block, None),
                None if *word == names.wallet => owners.add(id, block, amount, None),
                Some(_) if is_account && amount.is_zero() => given.push((block, JoinedChange::By, id, *word)),
                Some(_) if is_account && amount.is_positive() => given.push((block, JoinedChange::To, id, *word)),
                // An entry under the number of a vault is a change of its owner.
                Some(_) if is_vault && id == *word && amount.is_negative() => {
                    given.push((block, JoinedChange::Lost, id, *word));
                }
                _ => {}
            }
        }
    }
    given.sort_unstable();
    let is_any = |block: u64, id: B256, wanted: JoinedChange| {
        given.iter().any(|(at, change, of, _)| (*at, *of, *change) == (block, id, wanted))
    };
    let has = |owners: &Owners<'_>, id| {
        names.accounts.iter().any(|account| owners.share(names.held_by(id, *account), u64::MAX).is_positive())
    };
    for (block, change, id, word) in given.iter().copied() {
        let is_got_back =
            change == JoinedChange::Lost && is_any(block, id, JoinedChange::To) && !is_any(block, id, JoinedChange::By);
        if is_got_back && has(&owners, id) {
            return None;
        }
        match change {
            JoinedChange::By => owners.give_away(names, (id, Some(word)), block, None),
            JoinedChange::Lost => owners.pass_on(names, Given { id, by: Some(word), to: B256::ZERO }, block, None),
            JoinedChange::To => owners.pass_on(names, Given { id, by: None, to: word }, block, None),
        }
    }
    Some(owners)
}

/// A change of a vault's owner in an index. In one block, a vault is lost before another account gains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum JoinedChange {
    /// An account gave it away.
    By,
    Lost,
    To,
}

/// The block, the part and the amount of a change of its owner.
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
