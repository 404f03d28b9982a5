//! What the logs of some transactions say of a wallet's accounts: the events, the amounts, and which log must have been
//! left out.
//!
//! A liquidation moves debt to the liquidator as a repayment and a borrowing, may write off the rest as another
//! repayment, and logs itself at the end. Debt that an account pulls from another one moves in the same way. So each of
//! these logs takes back the repayment before it.

use std::collections::BTreeMap;

use alloy::{
    primitives::{I256, U256, map::HashSet},
    rpc::types::Log,
};

use super::{
    accounts::{are_of_one_owner, part},
    events::{ConnectorCall, Said, called, said},
};
use crate::{
    asset::Asset,
    figures::{
        hints::{Emitter, Hint, Naming},
        record::Side,
        sums::{Move, signed},
    },
    protocols::{EventKind, Evidence},
};
use assay_domain::{Address, B256};

/// The most logs between a borrowing and the log that says that the debt was pulled.
const BESIDE: u64 = 2;

/// The accounts of a wallet whose logs are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Accounts {
    /// Only the wallet, as one account: an index reads each account as a wallet.
    One(Address),
    /// All 256.
    All(Address),
    /// None: the wallet is an account of another owner.
    None,
}

impl Accounts {
    /// By the hints of `wallet`.
    pub(super) fn of(listed: &[Hint], wallet: B256) -> Self {
        let wallet = Address::from_word(wallet);
        let naming = listed.iter().map(|hint| hint.naming);
        let mut found = Self::One(wallet);
        for naming in naming {
            match naming {
                Naming::Never { .. } => return Self::None,
                Naming::Accounts(_) => found = Self::All(wallet),
                _ => {}
            }
        }
        found
    }

    pub(super) fn has(&self, account: Address) -> bool {
        match self {
            Self::One(wallet) => *wallet == account,
            Self::All(wallet) => are_of_one_owner(*wallet, account),
            Self::None => false,
        }
    }
}

/// A block and a transaction in it.
type Place = (Option<B256>, Option<B256>);

/// An event, with the log that shows it and the amount of the vault's token.
#[derive(Debug, Clone, Copy)]
struct Shown<'a> {
    kind: EventKind,
    log: &'a Log,
    account: Address,
    assets: U256,
}

/// The logs of one vault in one transaction, in order.
#[derive(Debug, Default)]
struct VaultLogs<'a> {
    logs: Vec<(Said, &'a Log)>,
    /// Calls of the vault for accounts of the wallet.
    calls: Vec<ConnectorCall>,
    /// Accounts whose collateral this vault took in another one, each with the log that shows it.
    seized: Vec<(Address, &'a Log)>,
}

/// The logs of a wallet's accounts.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    accounts: Accounts,
    vaults: BTreeMap<(Place, Address), VaultLogs<'a>>,
    calls: Vec<(ConnectorCall, &'a Log)>,
    /// Whether the connector's logs are read, too.
    has_calls: bool,
}

impl<'a> Reading<'a> {
    pub(super) fn of(evidence: &Evidence<'a>, wallet: B256) -> Self {
        Self::new(&evidence.hints, evidence.listed, wallet)
    }

    fn new(logs: &[&'a Log], listed: &[Hint], wallet: B256) -> Self {
        let accounts = Accounts::of(listed, wallet);
        let has_calls = listed.iter().any(|hint| matches!(hint.naming, Naming::Alias { .. }));
        let none = HashSet::default();
        let set =
            listed.iter().find_map(|hint| if let Emitter::Set(set) = &hint.contract { Some(&**set) } else { None });
        let known = set.unwrap_or(&none);
        let mut logs = logs.to_vec();
        logs.sort_by_key(|log| (log.block_number, log.log_index));
        logs.dedup_by_key(|log| (log.block_hash, log.log_index));
        let (mut vaults, mut calls) = (BTreeMap::<_, VaultLogs<'a>>::new(), Vec::new());
        for log in logs {
            let place = (log.block_hash, log.transaction_hash);
            // Anybody can have the connector call a contract that is no vault for any account.
            let is_of_vault = |call: &ConnectorCall| set.is_none_or(|set| set.contains(&call.vault));
            if let Some(call) = called(log).filter(|call| accounts.has(call.account) && is_of_vault(call)) {
                vaults.entry((place, call.vault)).or_default().calls.push(call);
                if call.is_seizure(known) {
                    vaults.entry((place, call.caller)).or_default().seized.push((call.account, log));
                }
                calls.push((call, log));
            }
            if let Some(said) = said(log) {
                vaults.entry((place, log.address())).or_default().logs.push((said, log));
            }
        }
        Self { accounts, vaults, calls, has_calls }
    }

    pub(super) fn events(&self) -> Vec<(EventKind, &'a Log)> {
        self.shown().map(|(_, shown)| (shown.kind, shown.log)).collect()
    }

    /// Shares and debts by part, exactly as the vault keeps them; and the amounts of the events in the vault's token.
    /// A call that may have changed a part counts as a change of nothing: its logs may have been left out.
    pub(super) fn moves(&self) -> Vec<(Move, &'a Log)> {
        let mut found = Vec::new();
        let moved = |side, asset, amount: I256| Move { side, asset, amount, fixed_rate: false };
        for (vault, shown) in self.shown() {
            let asset = Asset::Market(part(vault, shown.account));
            let (side, amount) = match shown.kind {
                EventKind::Supply => (Side::Supply, signed(shown.assets)),
                EventKind::Withdraw => (Side::Supply, -signed(shown.assets)),
                EventKind::Borrow => (Side::Debt, signed(shown.assets)),
                EventKind::Repay | EventKind::Liquidation => (Side::Debt, -signed(shown.assets)),
            };
            found.push((moved(side, asset, amount), shown.log));
        }
        for ((_, vault), of) in &self.vaults {
            for (said, log) in &of.logs {
                let mut add = |side, account: Address, amount| {
                    if self.accounts.has(account) {
                        found.push((moved(side, Asset::Shares(part(*vault, account)), amount), *log));
                    }
                };
                match *said {
                    Said::Moved { from, to, shares } => {
                        add(Side::Supply, from, -signed(shares));
                        add(Side::Supply, to, signed(shares));
                    }
                    Said::Borrowed { account, assets } | Said::Accrued { account, assets } => {
                        add(Side::Debt, account, signed(assets));
                    }
                    Said::Repaid { account, assets } => add(Side::Debt, account, -signed(assets)),
                    _ => {}
                }
            }
        }
        for (call, log) in self.calls.iter().filter(|(call, _)| call.is_change()) {
            found.push((moved(Side::Debt, Asset::Shares(part(call.vault, call.account)), I256::ZERO), *log));
        }
        found.sort_by_key(|(_, log)| (log.block_number, log.log_index));
        found
    }

    /// The events with their vaults, in chain order.
    fn shown(&self) -> impl Iterator<Item = (Address, Shown<'a>)> {
        let mut all: Vec<_> = self
            .vaults
            .iter()
            .flat_map(|((_, vault), of)| of.shown(self.accounts).into_iter().map(|shown| (*vault, shown)))
            .collect();
        all.sort_by_key(|(_, shown)| (shown.log.block_number, shown.log.log_index));
        all.into_iter()
    }

    /// One log of each vault and transaction that lack a log.
    pub(super) fn unpaired(&self) -> Vec<&'a Log> {
        let lacks = |((place, vault), of): (&(Place, Address), &VaultLogs<'a>)| {
            let gives = !self.has_calls && self.gives(*place, *vault);
            of.lacks(self.accounts, gives, self.has_calls)
        };
        self.vaults.iter().filter_map(lacks).collect()
    }

    /// Whether an account gave shares of a vault other than `vault` to a stranger in the transaction, as in a
    /// liquidation.
    fn gives(&self, place: Place, vault: Address) -> bool {
        let mut others = self.vaults.iter().filter(|((at, other), _)| *at == place && *other != vault);
        others.any(|(_, of)| of.logs.iter().any(|(said, _)| self.is_gift(said)))
    }

    fn is_gift(&self, said: &Said) -> bool {
        let Said::Moved { from, to, .. } = said else { return false };
        self.accounts.has(*from) && !to.is_zero() && !are_of_one_owner(*from, *to)
    }
}

/// Whether no log of the transaction explains the repayment `log` of one of the `wallet`'s accounts: `hinting` has the
/// logs that name them there. It may be part of a liquidation.
pub(super) fn is_unexplained(log: &Log, hinting: &[&Log]) -> bool {
    let Some(Said::Repaid { account, .. }) = said(log) else { return false };
    let mut of = VaultLogs::default();
    for other in hinting {
        match said(other).filter(|_| other.address() == log.address()) {
            Some(said) => of.logs.push((said, *other)),
            None => of.calls.extend(called(other).filter(|call| call.vault == log.address())),
        }
    }
    of.repaid(account) > of.explained(account)
}

impl<'a> VaultLogs<'a> {
    fn count(&self, is_it: impl Fn(&Said) -> bool) -> usize {
        self.logs.iter().filter(|(said, _)| is_it(said)).count()
    }

    fn called(&self, is_it: impl Fn(&ConnectorCall) -> bool) -> usize {
        self.calls.iter().filter(|call| is_it(call)).count()
    }

    fn repaid(&self, of: Address) -> usize {
        self.count(|said| matches!(said, Said::Repaid { account, .. } if *account == of))
    }

    /// The repayments of `of` that other logs explain.
    fn explained(&self, of: Address) -> usize {
        let logged = self.count(|said| match said {
            Said::Liquidated { account, assets, .. } => *account == of && !assets.is_zero(),
            Said::Socialized { account } => *account == of,
            Said::Pulled { from, .. } => *from == of,
            _ => false,
        });
        logged + self.called(ConnectorCall::is_repayment)
    }

    /// The events of `accounts`.
    fn shown(&self, accounts: Accounts) -> Vec<Shown<'a>> {
        let mut found: Vec<Shown<'a>> = Vec::new();
        let index = |log: &Log| log.log_index.unwrap_or_default();
        for (said, log) in &self.logs {
            let mut add = |kind, account, assets| found.push(Shown { kind, log, account, assets });
            match *said {
                Said::Deposited { owner, assets, .. } => add(EventKind::Supply, owner, assets),
                Said::Withdrawn { owner, assets, .. } => add(EventKind::Withdraw, owner, assets),
                Said::Borrowed { account, assets } => add(EventKind::Borrow, account, assets),
                Said::Repaid { account, assets } => add(EventKind::Repay, account, assets),
                Said::Socialized { account } => take_back(&mut found, EventKind::Repay, account, |_| true),
                Said::Liquidated { account, assets, seized } => {
                    if !assets.is_zero() {
                        take_back(&mut found, EventKind::Repay, account, |_| true);
                    }
                    // Whoever asks to liquidate a healthy account makes a log, too.
                    if !assets.is_zero() || !seized.is_zero() {
                        found.push(Shown { kind: EventKind::Liquidation, log, account, assets });
                    }
                }
                Said::Pulled { from, to } if said.is_between_own() => {
                    take_back(&mut found, EventKind::Repay, from, |_| true);
                    // A borrowing of nothing has no log.
                    let is_beside = |shown: &Shown<'_>| index(log).saturating_sub(index(shown.log)) <= BESIDE;
                    take_back(&mut found, EventKind::Borrow, to, is_beside);
                }
                _ => {}
            }
        }
        found.retain(|shown| accounts.has(shown.account));
        found
    }

    /// A log of the vault, if it has one without its pair. `gives` if the accounts gave shares of another vault away.
    fn lacks(&self, accounts: Accounts, gives: bool, has_calls: bool) -> Option<&'a Log> {
        let own = self.logs.iter().find(|(said, _)| said.names(accounts)).map(|(_, log)| *log);
        let first = own.or(self.seized.first().map(|(_, log)| *log))?;
        let pairs = |is_start: bool| {
            let (mut moved, mut logged) = (Vec::new(), Vec::new());
            for (said, _) in &self.logs {
                match *said {
                    Said::Moved { from, to, shares } if is_start && from.is_zero() => moved.push((to, shares)),
                    Said::Moved { from, to, shares } if !is_start && to.is_zero() => moved.push((from, shares)),
                    Said::Deposited { owner, shares, .. } if is_start => logged.push((owner, shares)),
                    Said::Withdrawn { owner, shares, .. } if !is_start => logged.push((owner, shares)),
                    _ => {}
                }
            }
            let own = |list: Vec<(Address, U256)>| {
                let mut own: Vec<_> = list.into_iter().filter(|(account, _)| accounts.has(*account)).collect();
                own.sort_unstable();
                own
            };
            own(moved) == own(logged)
        };
        let repaid: Vec<Address> = self
            .logs
            .iter()
            .filter_map(|(said, _)| match said {
                Said::Repaid { account, .. } if accounts.has(*account) => Some(*account),
                _ => None,
            })
            .collect();
        let is_liquidated = |of: Address| {
            let logged = |said: &Said| matches!(said, Said::Liquidated { account, .. } if *account == of);
            self.count(logged) > 0
        };
        let lacks_repayment = |of: &Address| {
            let is_marked = gives || is_liquidated(*of) || self.seized.iter().any(|(account, _)| account == of);
            is_marked && self.repaid(*of) > self.explained(*of)
        };
        let lacks_liquidation = |(of, _): &(Address, &Log)| !is_liquidated(*of);
        let borrows = self.count(|said| matches!(said, Said::Borrowed { account, .. } if accounts.has(*account)));
        let pulls = self.count(|said| matches!(said, Said::Pulled { to, .. } if accounts.has(*to)));
        let lacks_pull = has_calls && borrows > 0 && pulls < self.called(ConnectorCall::is_pull);
        let is_whole = pairs(true)
            && pairs(false)
            && !repaid.iter().any(lacks_repayment)
            && !self.seized.iter().any(lacks_liquidation)
            && !lacks_pull;
        (!is_whole).then_some(first)
    }
}

/// Removes the last event of this kind of `account` that `is_it`.
fn take_back(found: &mut Vec<Shown<'_>>, kind: EventKind, account: Address, is_it: impl Fn(&Shown<'_>) -> bool) {
    let last = found.iter().rposition(|shown| shown.kind == kind && shown.account == account && is_it(shown));
    if let Some(last) = last {
        found.remove(last);
    }
}

impl Said {
    fn names(&self, accounts: Accounts) -> bool {
        match *self {
            Self::Moved { from, to, .. } | Self::Pulled { from, to } => accounts.has(from) || accounts.has(to),
            Self::Deposited { owner: account, .. }
            | Self::Withdrawn { owner: account, .. }
            | Self::Borrowed { account, .. }
            | Self::Repaid { account, .. }
            | Self::Accrued { account, .. }
            | Self::Liquidated { account, .. }
            | Self::Socialized { account } => accounts.has(account),
        }
    }
}
