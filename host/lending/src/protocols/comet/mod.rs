//! Comet (Compound v3): one borrowable asset per market, and no events for borrowing and repaying it. A market logs the
//! supply or withdrawal of an amount of the base asset, and in the next log how much of it changed the supply; the rest
//! changed the debt. If no such log follows, the receipt proves that none was left out.
//!
//! A transfer of a position counts as a withdrawal by the sender and a supply by the receiver. No log shows debt that a
//! transfer of the base asset creates or repays. The other wallet's log next to it often does ([`transfers`]). If not,
//! the amounts do not add up to the position, which lowers the coverage until old state shows the borrowing or the
//! repayment ([`unlogged`]), and the block itself shows that no log was left out ([`witness`]).

mod events;
mod position;
mod principal;
mod shown;
mod split;
mod terms;
mod transfers;
mod unlogged;
mod witness;

use alloy::{primitives::I256, rpc::types::Log};
use futures::{FutureExt, future::BoxFuture};

use crate::{
    config::MarketConfig,
    figures::{hints::Hint, sums::Move},
    protocols::{
        EventKind, Evidence, FoundTerms, LendingProtocol, Obstacle, PartialLogs, Profile, Quest, Unlogged, boxed,
    },
};
use assay_domain::B256;
use assay_evm::{Block, Client};
use events::{SIGNATURES, in_order, read};
use terms::CometTerms;

#[derive(Debug)]
pub(crate) struct Comet;

impl LendingProtocol for Comet {
    fn profile(&self) -> Profile {
        Profile { logs_its_traces: true, ..Profile::new("comet", SIGNATURES) }
    }

    fn look_up<'a>(&self, client: &'a Client, markets: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        let markets: Vec<_> = markets.iter().map(|market| market.address).collect();
        async move { Ok(boxed(CometTerms::look_up(client, &markets, at.hash).await?)) }.boxed()
    }

    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let read = read(&evidence.own, wallet).into_iter();
        let logged = read.flat_map(|read| read.kinds.into_iter().flatten().map(move |kind| (kind, read.log)));
        let debts = transfers::debts(&evidence.receipts, wallet).into_iter().map(|(kind, _, log)| (kind, log));
        in_order(logged.chain(debts))
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let logged = read(&evidence.own, wallet).into_iter().filter_map(|read| Some((read.moved?, read.log)));
        let debts = transfers::debts(&evidence.receipts, wallet).into_iter().map(|(_, moved, log)| (moved, log));
        in_order(logged.chain(debts))
    }

    fn is_explained(&self, _: &Hint, log: &Log, _: B256, own: &[&Log], _: &[&Log]) -> bool {
        !transfers::is_transfer(log, own)
    }

    fn partial_logs(&self) -> Option<&dyn PartialLogs> {
        Some(self)
    }
}

impl PartialLogs for Comet {
    /// Supplies that look like repayments and withdrawals that look like borrowings, because no log of supply follows.
    fn unsettled<'a>(&self, own: &[&'a Log], wallet: B256) -> Vec<&'a Log> {
        read(own, wallet).into_iter().filter(|read| read.lacks_a_part).map(|read| read.log).collect()
    }

    fn incomplete<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(I256, &'a Log)> {
        transfers::incomplete(&evidence.receipts, wallet)
    }

    fn unlogged<'a>(&self, quest: Quest<'a>) -> BoxFuture<'a, Result<Unlogged, Obstacle>> {
        unlogged::find(quest).boxed()
    }
}
