//! The vaults of Maker, now Sky. A vault has a number, and an urn under which the Vat keeps its collateral and debt.
//! The vault manager knows the owner: the wallet or a proxy. A wallet's vaults are looked up first, and the Vat's
//! logs are read by their urns. A log of the Vat is the call itself, with the collateral and the debt that it moved.
//! Debt is in units that grow with the stability fee, so the sum of a vault's changes is exactly its state.
//!
//! A vault can be given away. All its changes count as moves, and as events of the wallet that owned it after their
//! block. The manager's logs show the owner, and the state must agree with them.
//!
//! A proxy belongs to the wallet for which the registry built it, until it is given away. A proxy that a wallet was
//! given is found by the log of its new owner, which every proxy emits itself, so its contract is not known before.
//! What the proxy did before that log is not the wallet's. A wallet that had a proxy which another has now is partial.
//!
//! A wallet may also have collateral and debt in the Vat without a vault, under its own address or that of a proxy.
//! They are read in every kind of collateral, because a missing log could be the only one that names the kind. For the
//! same reason, logs in which the wallet or a proxy gives a vault away, or the wallet calls a proxy, are read: they
//! name what the wallet once had.

mod contracts;
mod events;
mod math;
mod owners;
mod parts;
mod position;
mod proxy;
mod terms;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    asset::Asset,
    config::MarketConfig,
    figures::{
        hints::{Hint, Naming},
        indexed::Entry,
        record::Side,
        sums::Move,
    },
    protocols::{Aliases, EventKind, Evidence, FoundTerms, LendingProtocol, Profile, Signature, boxed},
};
use assay_domain::B256;
use assay_evm::{Block, Client};
use contracts::MakerTerms;
use events::{FORK, FROB, GRAB, UrnChange, change};
use owners::{Owners, WalletNames};

#[derive(Debug)]
pub(crate) struct MakerVaults;

/// Each names the urn. A move between urns names one in each of two topics.
const SIGNATURES: &[Signature] = &[
    Signature { topic0: FROB, wallet_at: 2 },
    Signature { topic0: GRAB, wallet_at: 2 },
    Signature { topic0: FORK, wallet_at: 2 },
    Signature { topic0: FORK, wallet_at: 3 },
];

impl LendingProtocol for MakerVaults {
    fn profile(&self) -> Profile {
        Profile { reading: 3, names_its_parts: true, ..Profile::new("maker", SIGNATURES) }
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(MakerTerms::look_up(client, &markets, at.hash).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let names = WalletNames::of(evidence.listed, wallet);
        let owners = Owners::of(&names, evidence);
        let mut found = Vec::new();
        for (log, id, change) in changes(&names, evidence) {
            let block = log.block_number.unwrap_or_default();
            let is_own = match parts::urn(id, &names.accounts, wallet) {
                Some((_, account)) => owners.had_account(&names, account, block),
                None => owners.had(&names, id, block),
            };
            if is_own {
                found.extend(change.kinds.into_iter().flatten().map(|kind| (kind, log)));
            }
        }
        found
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let names = WalletNames::of(evidence.listed, wallet);
        let mut found = Owners::of(&names, evidence).moves();
        for (log, id, change) in changes(&names, evidence) {
            let moved = |side, asset, amount| (Move { side, asset, amount, fixed_rate: false }, log);
            let collateral = moved(Side::Collateral, Asset::Market(id), change.collateral);
            let debt = moved(Side::Debt, Asset::Shares(id), change.debt);
            found.extend([collateral, debt].into_iter().filter(|(moved, _)| !moved.amount.is_zero()));
        }
        found.sort_by_key(|(_, log)| place(log));
        found
    }

    /// Every log names its urn or its vault.
    fn is_explained(&self, _: &Hint, _: &Log, _: B256, _: &[&Log], _: &[&Log]) -> bool {
        true
    }

    fn aliases(&self) -> Option<&dyn Aliases> {
        Some(self)
    }
}

impl Aliases for MakerVaults {
    fn joined(&self, of_words: &[(B256, &[Entry])], hints: &[Hint]) -> Option<Vec<Entry>> {
        owners::joined(of_words, hints)
    }
}

/// Changes of the wallet's positions with their vault, in chain order.
fn changes<'a>(names: &WalletNames, evidence: &Evidence<'a>) -> Vec<(&'a Log, B256, UrnChange)> {
    let mut logs: Vec<&Log> = evidence.own.iter().chain(&evidence.hints).copied().collect();
    logs.sort_by_key(|log| place(log));
    logs.dedup_by_key(|log| place(log));
    let mut found = Vec::new();
    for log in logs {
        for account in &names.accounts {
            let own = change(log, *account, &names.ends);
            found.extend(own.map(|(ilk, change)| (log, parts::urn_of(ilk, *account, names.wallet), change)));
        }
        for vault in &names.vaults {
            let own = change(log, vault.urn, &names.ends).filter(|(ilk, _)| *ilk == vault.ilk);
            found.extend(own.map(|(_, change)| (log, vault.id, change)));
        }
    }
    found
}

fn place(log: &Log) -> (Option<u64>, Option<u64>) {
    (log.block_number, log.log_index)
}

/// The word that identifies a wallet in a hint, if there is one.
fn alias(hint: &Hint) -> Option<(B256, crate::figures::hints::Alias)> {
    match hint.naming {
        Naming::Alias { word, of, .. } => Some((word, of)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
