//! Logs beside a market that name a wallet and say no more than: look into this transaction. A market whose own logs do
//! not tell all of a wallet's events lists them; the receipt of the transaction then tells what happened.

use std::sync::Arc;

use alloy::{primitives::b256, rpc::types::Log};
use futures::future::BoxFuture;

use crate::{AllTerms, Lender, Market, aave};
use assay_domain::{Address, B256};

/// Of every token, and of Comet markets for their base asset.
pub const TRANSFER: B256 = b256!("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef");

/// A kind of log that makes its transaction one to look into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    /// Who logs it: the market, one of its tokens, its controller.
    pub contract: Address,
    pub topic0: B256,
    pub naming: Naming,
    /// A log of the market itself that names the wallet, in the same transaction and with one of these signatures, says
    /// all that the receipt could: it is not read then.
    pub explained_by: &'static [B256],
}

/// How a log names the wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// In this topic, 1 to 3.
    At(usize),
    /// In topic 1 or topic 2, of which the other is this word.
    With(B256),
    /// In topic 1 as who had a token that stands for a supply of this asset, or in topic 2 as who has it now.
    Holder(Address),
}

/// One entry per market: its hints, or `None` where they are not known now, so that the market cannot be read.
pub type AllHints = Arc<[Option<Vec<Hint>>]>;

/// The hints of every market, once they are looked up.
pub type Hinted = BoxFuture<'static, AllHints>;

/// The hints of `markets` by their `terms`, as far as there are any.
pub fn hints(markets: &[Market], terms: Option<&AllTerms>) -> AllHints {
    let of = |(index, market): (usize, &Market)| match terms.and_then(|terms| terms.get(index)?.as_ref()) {
        Some(terms) => Some(terms.hints()),
        None => market.lender.reads_without_terms().then(Vec::new),
    };
    markets.iter().enumerate().map(of).collect()
}

impl Hint {
    pub(super) fn is(&self, log: &Log, wallet: B256) -> bool {
        let topics = log.topics();
        let named = match self.naming {
            Naming::At(topic) => topics.get(topic) == Some(&wallet),
            Naming::Holder(_) => topics.get(1) == Some(&wallet) || topics.get(2) == Some(&wallet),
            Naming::With(peer) => {
                matches!(topics, [_, from, to, ..] if (*from, *to) == (wallet, peer) || (*from, *to) == (peer, wallet))
            }
        };
        named && log.address() == self.contract && topics.first() == Some(&self.topic0)
    }

    /// Whether the receipt of `log`'s transaction is needless, by what else is known of it: `own`, logs of the market
    /// that name the wallet, and `hints`, logs that its hints are about.
    pub(super) fn is_explained(&self, log: &Log, wallet: B256, own: &[&Log], hints: &[&Log]) -> bool {
        match self.naming {
            Naming::Holder(asset) => aave::is_explained(log, asset, wallet, own, hints),
            Naming::At(_) | Naming::With(_) => {
                own.iter().any(|own| own.topic0().is_some_and(|topic| self.explained_by.contains(topic)))
            }
        }
    }
}

impl Lender {
    /// Whether a market's own logs tell something without what is looked up of it.
    fn reads_without_terms(self) -> bool {
        match self {
            Self::AaveV2 | Self::AaveV3 | Self::Comet => true,
            Self::CToken => false,
        }
    }
}
