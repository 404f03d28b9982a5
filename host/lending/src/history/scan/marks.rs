//! The marks of logs that the queries for all wallets find. The bloom of a block with such a log contains all parts of
//! its mark.

use std::collections::HashSet;

use alloy::rpc::types::Log;

use crate::{
    figures::hints::{AllHints, Naming},
    market::Market,
};
use assay_domain::{Address, B256};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark {
    pub contract: Address,
    pub topic0: B256,
    /// Another topic of the log.
    pub peer: Option<B256>,
}

impl Mark {
    pub fn is_of(&self, log: &Log) -> bool {
        let topics = log.topics();
        log.address() == self.contract
            && topics.first() == Some(&self.topic0)
            && self.peer.is_none_or(|peer| topics.iter().skip(1).any(|topic| *topic == peer))
    }
}

pub(super) fn of(markets: &[Market], hints: &AllHints) -> HashSet<Mark> {
    let mut marks = HashSet::new();
    for (market, hints) in markets.iter().zip(hints.iter()) {
        let Some(hints) = hints else { continue };
        let contract = market.config.address;
        let signatures = market.protocol.profile().signatures.iter().map(|signature| signature.topic0);
        let own = signatures.chain(market.protocol.profile().in_receipts.iter().copied());
        marks.extend(own.map(|topic0| Mark { contract, topic0, peer: None }));
        // A block's bloom tells nothing of a log whose contract is unknown.
        marks.extend(hints.iter().flat_map(|hint| {
            let peer = if let Naming::With(peer) = hint.naming { Some(peer) } else { None };
            hint.contract.addresses().map(move |contract| Mark { contract, topic0: hint.topic0, peer })
        }));
    }
    marks
}
