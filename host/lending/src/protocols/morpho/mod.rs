//! Morpho Blue: one contract with many markets, each identified by an id. Anybody can create one. A market lends one
//! token against another. The markets of a wallet are those that its logs name. Each log that changes a position names
//! its owner and the number of deposit or debt shares. So the sum of a wallet's shares is
//! exactly its position, and the position shows every missing log except one: the only log of the wallet in a market.
//! This log is requested from another endpoint, if there is one. Otherwise the shares of the wallet in all markets of
//! the contract are read, which show it; if they cannot be read, no history is complete.
//!
//! A liquidation may also write off debt that the collateral does not cover. It is one event, for the debt that was
//! repaid.

mod events;
mod listed;
mod math;
mod position;
mod terms;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    figures::sums::Move,
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Profile, boxed},
};
use assay_domain::B256;
use assay_evm::{Block, Client};
use events::{SIGNATURES, is_own, read};
use terms::MorphoTerms;

#[derive(Debug)]
pub(crate) struct MorphoBlue;

impl LendingProtocol for MorphoBlue {
    fn profile(&self) -> Profile {
        Profile { names_its_parts: true, ..Profile::new("morpho", SIGNATURES) }
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(MorphoTerms::look_up(client, &markets, at).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let own = evidence.own.iter().filter(|log| is_own(log, wallet));
        own.filter_map(|log| Some((read(log)?.kind?, *log))).collect()
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let own = evidence.own.iter().filter(|log| is_own(log, wallet));
        own.flat_map(|log| read(log).into_iter().flat_map(|read| read.moves).map(|moved| (moved, *log))).collect()
    }
}
