//! Euler v2. A factory makes vaults, each for one token, and anybody may have it make one. A vault lends its token
//! against shares of others, and is then the controller of the account that borrows. A connector calls the vaults for
//! accounts: an owner has 256, the addresses that share its first 19 bytes, and may let operators act for them.
//!
//! Each log of a vault names its account. The sums of shares, and of debt with the interest that the vault logs before
//! each change, are exactly what the vault keeps for an account, in one slot of its storage; so each missing log of a
//! part that is known shows. The parts are those that the logs name, those of the calls for the wallet's accounts,
//! which the connector logs, and the controllers and collaterals of its accounts. Nothing but their logs shows shares
//! that a stranger gave to an account, so with one endpoint the wallet's shares in all vaults are read.
//!
//! Some logs change no amount, only what another log means: a missing one shows by the logs and calls beside it.
//!
//! An account whose owner is another address is that wallet's, and empty here. An address that never called the
//! connector itself has no owner yet, and only the account with its own address.

mod accounts;
mod events;
mod position;
mod reading;
mod terms;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    figures::{hints::Hint, indexed::Entry, sums::Move},
    protocols::{Aliases, EventKind, Evidence, FoundTerms, LendingProtocol, Profile, boxed},
};
use assay_domain::{Address, B256};
use assay_evm::{Block, Client};
use reading::{Accounts, Reading, is_unexplained};
use terms::EulerTerms;

#[derive(Debug)]
pub(crate) struct EulerV2;

impl LendingProtocol for EulerV2 {
    fn profile(&self) -> Profile {
        // The logs are those of the vaults, which only the terms list.
        Profile {
            names_its_parts: true,
            reads_without_terms: false,
            lists_new_contracts: true,
            ..Profile::new("euler", &[])
        }
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(EulerTerms::look_up(client, &markets, at).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        Reading::of(evidence, wallet).events()
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        Reading::of(evidence, wallet).moves()
    }

    /// Every log names its account, but a repayment that the account did not call may be part of a liquidation.
    fn is_explained(&self, _: &Hint, log: &Log, _: B256, _: &[&Log], hinting: &[&Log]) -> bool {
        !is_unexplained(log, hinting)
    }

    fn unpaired<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<&'a Log> {
        Reading::of(evidence, wallet).unpaired()
    }

    fn aliases(&self) -> Option<&dyn Aliases> {
        Some(self)
    }
}

impl Aliases for EulerV2 {
    /// The entries of all accounts: each has parts of its own. `None` if debt may have moved between two of them: the
    /// log that says so may have been left out, and only the connector's calls show that.
    fn joined(&self, of_words: &[(B256, &[Entry])], hints: &[Hint]) -> Option<Vec<Entry>> {
        let (wallet, _) = of_words.first()?;
        let accounts = Accounts::of(hints, *wallet);
        let own = of_words.iter().filter(|(word, _)| accounts.has(Address::from_word(*word)));
        let mut all: Vec<Entry> = own.flat_map(|(_, entries)| entries.iter().copied()).collect();
        all.sort_by_key(|entry| entry.block);
        (!accounts::may_have_moved_debt(&all)).then_some(all)
    }
}

#[cfg(test)]
mod tests;
