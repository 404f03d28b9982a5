//! Fluid: vaults in which positions borrow against collateral, and tokens that are shares of deposits. A market is the
//! vault factory, whose tokens (ERC-721) are the positions, with the lending factory, which lists the tokens of
//! deposits.
//!
//! Positions are in state: the factory lists those of a wallet, and each vault has its collateral and its tick. They
//! are read even if the history is not. A liquidation changes all positions at a tick together, and the position itself
//! only when it is used next; until then the vault computes what is left of it.
//!
//! The history is that of the tokens of deposits, and of the owners of positions. What happened in a vault is in logs
//! that have the position's number in their data, which no node finds by a wallet: the index of all wallets counts it,
//! for whoever has the position after the block. A liquidation is in no log. So the history of a wallet that ever had a
//! position is partial, in words.

mod events;
mod math;
mod position;
mod share;
mod terms;
mod vault;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    figures::{
        hints::Hint,
        indexed::{Entry, Had},
        sums::Move,
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Numbers, Profile, boxed},
};
use assay_domain::{B256, EventCounts};
use assay_evm::{Block, Client};
use events::{SIGNATURES, operated, owned, shared};
use terms::FluidTerms;

#[derive(Debug)]
pub(crate) struct Fluid;

impl LendingProtocol for Fluid {
    fn profile(&self) -> Profile {
        let no_events = EventCounts { borrow: None, repay: None, liquidation: None, ..EventCounts::ZERO };
        Profile { no_events, reads_without_terms: false, ..Profile::new("fluid", SIGNATURES) }
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(FluidTerms::look_up(client, &markets, at.hash).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let of = |log: &&'a Log| {
            let share = shared(log, wallet).and_then(|(kind, _)| kind);
            let log = *log;
            share.into_iter().chain(operated(log)).map(move |kind| (kind, log))
        };
        evidence.hints.iter().flat_map(of).collect()
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let positions = evidence.own.iter().filter_map(|log| Some((owned(log, wallet)?, *log)));
        let shares = evidence.hints.iter().filter_map(|log| Some((shared(log, wallet)?.1, *log)));
        let mut found: Vec<_> = positions.chain(shares).collect();
        found.sort_by_key(|(_, log)| (log.block_number, log.log_index));
        found
    }

    /// Each log has all of its change.
    fn is_explained(&self, _: &Hint, _: &Log, _: B256, _: &[&Log], _: &[&Log]) -> bool {
        true
    }

    fn numbers(&self) -> Option<&dyn Numbers> {
        Some(self)
    }
}

impl Numbers for Fluid {
    fn had(&self, own: &[Entry]) -> Had {
        events::had(own)
    }
}
