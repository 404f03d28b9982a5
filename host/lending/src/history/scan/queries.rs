//! The queries that find the logs of all wallets: one for the markets and the contracts of their hints together, two
//! for transfers from and to a list of contracts, whose tokens have too many other transfers, and one for logs of any
//! contract.

use crate::{
    figures::hints::{AllHints, Naming},
    history::plan::add,
    market::Market,
};
use assay_domain::{Address, B256};
use assay_evm::logs::LogQuery;

pub(super) fn of(markets: &[Market], hints: &AllHints) -> Vec<LogQuery> {
    let [mut all, mut from, mut to, mut any] = std::array::from_fn(|_| LogQuery::default());
    for (market, hints) in markets.iter().zip(hints.iter()) {
        let Some(hints) = hints else { continue };
        let signatures = market.protocol.profile().signatures.iter().map(|signature| &signature.topic0);
        for topic0 in signatures.chain(market.protocol.profile().in_receipts) {
            ask(&mut all, market.config.address, *topic0);
        }
        for hint in hints {
            match hint.naming {
                Naming::At(_) | Naming::Holder(_) | Naming::Balance { .. } => ask(&mut all, hint.contract, hint.topic0),
                Naming::Emitter(_) => any.topics.first_mut().into_iter().for_each(|list| add(list, hint.topic0)),
                // Its word is read like a wallet.
                Naming::Alias { .. } | Naming::Never { .. } => {}
                Naming::With(peer) => {
                    for (query, topic) in [(&mut from, 1), (&mut to, 2)] {
                        ask(query, hint.contract, hint.topic0);
                        query.topics.get_mut(topic).into_iter().for_each(|peers| add(peers, peer));
                    }
                }
            }
        }
    }
    [all, from, to, any].into_iter().filter(|query| *query != LogQuery::default()).collect()
}

fn ask(query: &mut LogQuery, contract: Address, topic0: B256) {
    add(&mut query.addresses, contract);
    query.topics.first_mut().into_iter().for_each(|signatures| add(signatures, topic0));
}
