//! Aave v2 and v3: five pool events, in which the position's owner is always indexed. A few queries therefore find a
//! wallet's history in all pools of a chain. Most events are the same in both versions; the pool's address tells the
//! version.
//!
//! A supply is a balance of aTokens, which can be transferred without the pool. Their transfers are read together with
//! the pool's events ([`tokens`]):
//! - For a withdrawal through a gateway or an adapter, the wallet first transfers its aTokens there, and the pool then
//!   names the gateway. It counts as a withdrawal of the wallet, found in the transaction's receipt, and not as one of
//!   the gateway.
//! - A repayment out of aTokens is a repayment, and reduces the supply by the same amount. It does not count as a
//!   withdrawal, because nothing left the pool.
//! - A plain transfer, and one to a liquidator who takes aTokens, changes the supply but is not an event for either
//!   side: the pool had no part in it, and any sender can send dust.
//! - An unbacked mint by a bridge is a supply.
//!
//! Each log of an aToken or a debt token has its pair in a log of the pool ([`pairs`]); one without shows that a log
//! was left out.
//!
//! The logs of aTokens and debt tokens also show the stored balances ([`scaled`], [`fixed`]), which interest does not
//! change. The sum of the logged changes must equal the stored balance, apart from rounding.
//!
//! Credit that a wallet gives or receives is in the same logs, and in those of allowances ([`delegation`]).
//!
//! Not shown by the logs: debt that changes other than by borrowing, repaying, liquidating and writing off (today there
//! is none), flash loans that are repaid within their transaction, and the growth of rebasing tokens.

mod delegation;
mod events;
mod fixed;
mod pairs;
mod position;
mod rules;
mod scaled;
mod terms;
mod tokens;

use alloy::rpc::types::Log;
use futures::FutureExt;

use crate::{
    config::MarketConfig,
    figures::{
        hints::{Hint, Naming, TRANSFER},
        record::Side,
        sums::Move,
    },
    protocols::{EventKind, Evidence, FoundTerms, LendingProtocol, Profile, Signature, boxed},
};
use assay_domain::B256;
use assay_evm::{Block, Client};
pub(crate) use events::{SIGNATURES_V2, SIGNATURES_V3};
use events::{event, moved, order};
use pairs::{RATES_V2, RATES_V3, Token, is_paired};

/// The reading that finds missing logs by their pairs; older histories are read once more.
const WITH_PAIRS: u32 = 3;

/// One version of the protocol.
#[derive(Debug)]
pub(crate) struct Aave {
    version: Version,
    signatures: &'static [Signature],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    V2,
    V3,
}

pub(crate) static V2: Aave = Aave { version: Version::V2, signatures: SIGNATURES_V2 };
pub(crate) static V3: Aave = Aave { version: Version::V3, signatures: SIGNATURES_V3 };

impl LendingProtocol for Aave {
    fn profile(&self) -> Profile {
        Profile {
            logs_its_traces: self.version == Version::V3,
            // A reserve is listed in the transaction that makes its tokens.
            lists_new_contracts: true,
            reading: WITH_PAIRS,
            in_receipts: if self.version == Version::V2 { RATES_V2 } else { RATES_V3 },
            ..Profile::new("aave", self.signatures)
        }
    }

    fn look_up<'a>(&self, client: &'a Client, pools: Vec<&'a MarketConfig>, at: Block) -> FoundTerms<'a> {
        async move { Ok(boxed(terms::look_up(client, &pools, at).await?)) }.boxed()
    }

    /// Events in which the pool names the wallet, and withdrawals by a receiver of its aTokens.
    fn events<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(EventKind, &'a Log)> {
        let own = &evidence.own;
        let passed_on = tokens::passed_on(evidence, wallet, own);
        let is_own = |log: &&&Log| !passed_on.contains(&order(log));
        let mut events: Vec<_> = own.iter().filter(is_own).filter_map(|log| Some((event(log)?, *log))).collect();
        events.extend(tokens::withdrawals(evidence, wallet, own).into_iter().map(|log| (EventKind::Withdraw, log)));
        events.sort_by_key(|(_, log)| order(log));
        events
    }

    fn moves<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<(Move, &'a Log)> {
        let moved = |log: &'a Log| moved(log).unwrap_or_default().into_iter().map(move |amount| (amount, log));
        let mut moves: Vec<_> = evidence.own.iter().flat_map(|log| moved(log)).collect();
        moves
            .extend(evidence.hints.iter().filter_map(|log| Some((tokens::moved(log, evidence.listed, wallet)?, *log))));
        moves.extend(scaled::moves(&evidence.hints, evidence.listed, wallet));
        moves.extend(delegation::moves(&evidence.hints, evidence.listed, wallet));
        moves.extend(fixed::moves(evidence));
        moves.sort_by_key(|(_, log)| order(log));
        moves
    }

    fn is_explained(&self, hint: &Hint, log: &Log, wallet: B256, own: &[&Log], hinting: &[&Log]) -> bool {
        match hint.naming {
            Naming::Holder(asset) if hint.topic0 == TRANSFER => tokens::is_explained(log, asset, wallet, own, hinting),
            // The transfer next to it decides whether a receipt is needed.
            Naming::Holder(_) | Naming::Balance { side: Side::Supply, .. } => tokens::is_beside(log, hinting),
            Naming::Balance { side, asset, .. } => {
                is_paired(Token { address: log.address(), side, asset }, wallet, own, hinting)
            }
            Naming::At(_) => hint.is_explained_by(own) || delegation::is_apart(hint, log, wallet),
            Naming::With(_)
            | Naming::Alias { .. }
            | Naming::Accounts(_)
            | Naming::Emitter(_)
            | Naming::Number(_)
            | Naming::Never { .. } => hint.is_explained_by(own),
        }
    }

    fn explained_alike(&self, hint: &Hint, log: &Log, wallet: B256) -> Option<usize> {
        match hint.naming {
            Naming::Holder(_) if hint.topic0 == TRANSFER => Some(tokens::class(log, wallet)),
            Naming::Holder(_) | Naming::Balance { .. } => Some(0),
            _ => None,
        }
    }

    fn lonely<'a>(&self, own: &[&'a Log], hinting: &[&Log], hints: &[Hint], wallet: B256) -> Vec<&'a Log> {
        pairs::lonely(own, hinting, hints, wallet)
    }

    fn unpaired<'a>(&self, evidence: &Evidence<'a>, wallet: B256) -> Vec<&'a Log> {
        pairs::unpaired(evidence, wallet)
    }

    /// Only if the pool's aTokens are known.
    fn adds_up(&self, hints: &[Hint]) -> bool {
        !hints.is_empty()
    }
}
