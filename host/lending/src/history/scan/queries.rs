//! The queries that find the logs of all wallets: one for the markets and the contracts of their hints together, two
//! for transfers from and to a list of contracts, whose tokens have too many other transfers, and one for logs of any
//! contract.

use crate::{
    figures::hints::{AllHints, Emitter, Naming},
    history::plan::Asked,
    market::Market,
};
use assay_evm::logs::LogQuery;

pub(super) fn of(markets: &[Market], hints: &AllHints) -> Vec<LogQuery> {
    let [mut all, mut from, mut to, mut any] = std::array::from_fn(|_| Asked::default());
    for (market, hints) in markets.iter().zip(hints.iter()) {
        let Some(hints) = hints else { continue };
        let signatures = market.protocol.profile().signatures.iter().map(|signature| &signature.topic0);
        for topic0 in signatures.chain(market.protocol.profile().in_receipts) {
            all.ask(&Emitter::One(market.config.address), *topic0);
        }
        for hint in hints {
            match hint.naming {
                // Its word is read like a wallet.
                Naming::Alias { .. } | Naming::Accounts(_) | Naming::Never { .. } => {}
                _ if hint.is_of_any() => any.ask(&hint.contract, hint.topic0),
                Naming::At(_) | Naming::Holder(_) | Naming::Balance { .. } | Naming::Emitter(_) | Naming::Number(_) => {
                    all.ask(&hint.contract, hint.topic0);
                }
                Naming::With(peer) => {
                    for (query, topic) in [(&mut from, 1), (&mut to, 2)] {
                        query.ask(&hint.contract, hint.topic0);
                        query.name(topic, peer);
                    }
                }
            }
        }
    }
    [all, from, to, any].into_iter().flat_map(Asked::queries).collect()
}
