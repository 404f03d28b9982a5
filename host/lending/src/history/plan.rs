//! The log queries of one read: as few as find every event of a wallet, over all markets together.
//!
//! One query serves all logs that name the wallet in the same topic, over the addresses and signatures of all protocols
//! and their hints. It may also return logs that no market wants, which are dropped; every log that it returns names
//! the wallet. Transfers between the wallet and a list of contracts take one more query for both directions: each side
//! is the wallet or one of the list. A first read costs two queries for Comet, three for Aave, three for both together,
//! and one more with Compound v2 and with Maker, for the logs in which any contract names a new owner.
//!
//! Continuing a history takes two queries, or three with Morpho Blue, where the third topic names the owner in most
//! events, and with Euler v2, where it does in withdrawals. In the other protocols only Aave's liquidations name the
//! wallet there, and each comes with a log of an aToken that names it in one of the first two: the seized aTokens were
//! burnt or transferred. No other log explains that one, so its receipt is read, which has the liquidation. A first
//! read also queries the third topic, to avoid depending on the list of aTokens that a pool has today. Over a short
//! span a wallet has few transfers with any address: they are part of the queries of their topics, and those with
//! contracts outside the list are dropped.

use std::{collections::BTreeMap, ops::RangeInclusive};

use alloy::{primitives::map::HashSet, rpc::types::Log};

use crate::{
    figures::hints::{Alias, AllHints, Emitter, Naming, TRANSFER, accounts},
    limits,
    market::Market,
};
use assay_domain::{Address, B256};
use assay_evm::logs::LogQuery;

/// The topic in which only liquidations name the wallet.
const RARE: usize = 3;
/// The key of the query for transfers between the wallet and a list of contracts. Sorts last.
const BOTH: usize = usize::MAX;
/// The key of the query for logs of any contract.
const ANY: usize = usize::MAX - 1;

/// The queries and hints of one read.
#[derive(Clone)]
pub(crate) struct Plan {
    pub wallet: Address,
    /// Whether it continues an earlier read.
    pub is_tail: bool,
    /// Whether it rereads a history that the position contradicted.
    pub is_doubted: bool,
    pub queries: Vec<LogQuery>,
    pub hints: AllHints,
}

impl Plan {
    /// Finds every event, even if the hints are incomplete.
    pub(crate) fn new(markets: &[Market], hints: AllHints, wallet: Address) -> Self {
        Self::of(markets, hints, wallet, false)
    }

    /// Continues a history over a short span, with two queries for all protocols together.
    pub(crate) fn tail(markets: &[Market], hints: AllHints, wallet: Address) -> Self {
        Self::of(markets, hints, wallet, true)
    }

    fn of(markets: &[Market], hints: AllHints, wallet: Address, tail: bool) -> Self {
        let mut by_topic = BTreeMap::<usize, Asked>::new();
        // Looks for `word` in one of `topics`, or in either with `peer` in the other, in logs of `contract`.
        let mut ask =
            |contract: &Emitter, topic0: B256, topics: RangeInclusive<usize>, word: B256, peer: Option<B256>| {
                // Every mint and burn names the zero address, which has no position.
                if wallet.is_zero() && topic0 == TRANSFER {
                    return;
                }
                let alone = peer.is_none();
                for topic in topics {
                    let key = if *contract == Emitter::Any { ANY } else { topic };
                    let query = by_topic.entry(if alone { key } else { BOTH }).or_default();
                    query.ask(contract, topic0);
                    std::iter::once(word).chain(peer).for_each(|word| query.name(topic, word));
                }
            };
        for (market, hints) in markets.iter().zip(hints.iter()) {
            let Some(hints) = hints else { continue };
            for signature in market.protocol.profile().signatures {
                if signature.wallet_at != RARE || !tail || hints.is_empty() {
                    let topics = signature.wallet_at..=signature.wallet_at;
                    let contract = Emitter::One(market.config.address);
                    ask(&contract, signature.topic0, topics, wallet.into_word(), None);
                }
            }
            for hint in hints {
                // If the log of a move between vaults is missing, their amounts show it.
                if tail && matches!(hint.naming, Naming::Alias { topic: RARE, of: Alias::Part { .. }, .. }) {
                    continue;
                }
                let own = wallet.into_word();
                let (topics, word, peer) = match hint.naming {
                    Naming::At(topic) | Naming::Balance { topic, .. } | Naming::Emitter(topic) => {
                        (topic..=topic, own, None)
                    }
                    Naming::Number(_) | Naming::Never { .. } => continue,
                    Naming::Accounts(topic) => {
                        for account in accounts(own) {
                            ask(&hint.contract, hint.topic0, topic..=topic, account, None);
                        }
                        continue;
                    }
                    Naming::With(peer) => (1..=2, own, Some(peer).filter(|_| !tail)),
                    Naming::Holder(_) => (1..=2, own, None),
                    Naming::Alias { topic, word, .. } => (topic..=topic, word, None),
                };
                ask(&hint.contract, hint.topic0, topics, word, peer);
            }
        }
        let queries = by_topic.into_values().flat_map(Asked::queries).collect();
        Self { wallet, is_tail: tail, is_doubted: false, queries, hints }
    }

    /// Whether `log`, in a receipt, counts: it is one of a market with hints, or matches a hint.
    pub(crate) fn reads_in_receipts(&self, markets: &[Market], log: &Log) -> bool {
        let wallet = self.wallet.into_word();
        self.reads_receipts_of(markets, log.address())
            || self.hints.iter().flatten().flatten().any(|hint| hint.is(log, wallet))
    }

    fn reads_receipts_of(&self, markets: &[Market], contract: Address) -> bool {
        let hinted = |hints: &Option<Vec<_>>| hints.as_ref().is_some_and(|hints| !hints.is_empty());
        markets.iter().zip(self.hints.iter()).any(|(market, hints)| market.config.address == contract && hinted(hints))
    }
}

/// A query while it grows.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    query: LogQuery,
    /// Its addresses, of which there may be thousands.
    known: HashSet<Address>,
}

impl Asked {
    /// Adds the logs of `contract` with the signature `topic0`.
    pub(crate) fn ask(&mut self, contract: &Emitter, topic0: B256) {
        let start = self.query.addresses.len();
        self.query.addresses.extend(contract.addresses().filter(|address| self.known.insert(*address)));
        // A set has no order, and the same question is always asked in the same words.
        self.query.addresses.split_at_mut(start).1.sort_unstable();
        self.name(0, topic0);
    }

    /// Adds a value of a topic.
    pub(crate) fn name(&mut self, topic: usize, word: B256) {
        let list = self.query.topics.get_mut(topic).into_iter();
        list.filter(|list| !list.contains(&word)).for_each(|list| list.push(word));
    }

    /// The query, in parts if it names more contracts or words than endpoints allow; none if nothing was asked.
    pub(crate) fn queries(self) -> Vec<LogQuery> {
        let query = self.query;
        if query == LogQuery::default() {
            return Vec::new();
        }
        let addressed = |part: &[Address]| LogQuery { addresses: part.to_vec(), topics: query.topics.clone() };
        let mut queries: Vec<_> = query.addresses.chunks(limits::QUERY_ADDRESSES).map(addressed).collect();
        if query.addresses.is_empty() {
            queries.push(query.clone());
        }
        for (topic, words) in query.topics.iter().enumerate().filter(|(_, words)| words.len() > limits::QUERY_WORDS) {
            let named = |query: &LogQuery, part: &[B256]| {
                let mut query = query.clone();
                query.topics.get_mut(topic).into_iter().for_each(|words| *words = part.to_vec());
                query
            };
            let of = |query: &LogQuery| words.chunks(limits::QUERY_WORDS).map(|part| named(query, part)).collect();
            queries = queries.iter().flat_map::<Vec<_>, _>(of).collect();
        }
        queries
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::figures::hints::Hint;
    use assay_domain::Protocol;

    const WALLET: Address = Address::repeat_byte(0xaa);

    /// The number of values for each topic, and of addresses.
    fn asked(markets: &[Market], hints: Vec<Hint>, wallet: Address) -> Vec<([usize; 4], usize)> {
        let hints = markets.iter().map(|_| Some(hints.clone())).collect();
        let plan = Plan::new(markets, hints, wallet);
        plan.queries.iter().map(|query| (query.topics.each_ref().map(Vec::len), query.addresses.len())).collect()
    }

    fn hint(contract: u8, naming: Naming) -> Hint {
        Hint { contract: Address::repeat_byte(contract).into(), topic0: TRANSFER, naming, explained_by: &[] }
    }

    fn of_any(naming: Naming) -> Hint {
        Hint { contract: Emitter::Any, ..hint(0, naming) }
    }

    #[test]
    fn a_query_for_each_topic_covers_all_pools_of_both_versions() {
        let [v2, v3, other] = [(Protocol::LenderAV2, 3), (Protocol::LenderAV3, 1), (Protocol::LenderAV3, 2)]
            .map(|(protocol, byte)| Market::sample(protocol, byte));
        assert_eq!(
            asked(&[v3.clone(), other], vec![], WALLET),
            [([1, 1, 0, 0], 2), ([5, 0, 1, 0], 2), ([1, 0, 0, 1], 2)]
        );
        assert_eq!(asked(&[v3, v2], vec![], WALLET), [([1, 1, 0, 0], 1), ([8, 0, 1, 0], 2), ([1, 0, 0, 1], 2)]);
    }

    #[test]
    fn a_market_that_names_the_wallet_first_needs_a_query_of_its_own() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let comet = Market::sample(Protocol::LenderBV3, 3);
        assert_eq!(asked(std::slice::from_ref(&comet), vec![], WALLET), [([4, 1, 0, 0], 1), ([6, 0, 1, 0], 1)]);
        assert_eq!(
            asked(&[pool, comet.clone()], vec![], WALLET),
            [([5, 1, 0, 0], 2), ([11, 0, 1, 0], 2), ([1, 0, 0, 1], 1)]
        );
        assert_eq!(asked(&[comet], vec![], Address::ZERO), [([3, 1, 0, 0], 1), ([5, 0, 1, 0], 1)]);
    }

    #[test]
    fn hints_ride_in_the_same_queries() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let hints = vec![hint(8, Naming::At(2)), hint(9, Naming::At(3))];
        assert_eq!(asked(&[pool], hints, WALLET), [([1, 1, 0, 0], 1), ([6, 0, 1, 0], 2), ([2, 0, 0, 1], 2)]);
    }

    #[test]
    fn logs_of_any_contract_are_a_query_without_addresses() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let hints = vec![of_any(Naming::Emitter(1)), hint(9, Naming::At(2))];
        let expected = [([1, 1, 0, 0], 1), ([6, 0, 1, 0], 2), ([1, 0, 0, 1], 1), ([1, 1, 0, 0], 0)];
        assert_eq!(asked(&[pool], hints, WALLET), expected, "only where the contract is not known");
    }

    #[test]
    fn a_set_of_contracts_rides_in_the_same_queries_until_there_are_too_many() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let of_set = |contracts: u64, naming| {
            let set = (1..=contracts).map(|n| Address::left_padding_from(&n.to_be_bytes())).collect();
            Hint { contract: Emitter::Set(Arc::new(set)), ..hint(0, naming) }
        };
        let both = |contracts| vec![of_set(contracts, Naming::At(2)), of_set(contracts, Naming::At(3))];
        let few = [([1, 1, 0, 0], 1), ([6, 0, 1, 0], 31), ([2, 0, 0, 1], 31)];
        assert_eq!(asked(std::slice::from_ref(&pool), both(30), WALLET), few);
        let many = [1_000, 501].into_iter();
        let parts = |topics| many.clone().map(move |addresses| (topics, addresses));
        let many: Vec<_> =
            [([1, 1, 0, 0], 1)].into_iter().chain(parts([6, 0, 1, 0])).chain(parts([2, 0, 0, 1])).collect();
        assert_eq!(asked(&[pool], both(1_500), WALLET), many);
    }

    #[test]
    fn a_query_names_no_more_words_than_nodes_allow() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let vault = |number: u64| {
            let word = B256::left_padding_from(&number.to_be_bytes());
            hint(8, Naming::Alias { topic: 2, word, of: Alias::Account })
        };
        // The wallet itself is the first of 1,101.
        let asked = asked(std::slice::from_ref(&pool), (1..=1_100).map(vault).collect(), WALLET);
        let expected =
            [([1, 1, 0, 0], 1), ([6, 0, 500, 0], 2), ([6, 0, 500, 0], 2), ([6, 0, 101, 0], 2), ([1, 0, 0, 1], 1)];
        assert_eq!(asked, expected);
        let hints = (1..=700).map(|number| hint(8, Naming::With(B256::left_padding_from(&u64::to_be_bytes(number)))));
        let plan = Plan::new(&[pool], vec![Some(hints.collect())].into(), WALLET);
        let both: Vec<_> =
            plan.queries.iter().filter(|query| query.topics.iter().skip(1).all(|w| w.len() != 1)).collect();
        // Each pair of the wallet and a peer is in one of them.
        for peer in 1..=700_u64 {
            let peer = B256::left_padding_from(&peer.to_be_bytes());
            for [from, to] in [[WALLET.into_word(), peer], [peer, WALLET.into_word()]] {
                let asks = both.iter().filter(|query| query.topics[1].contains(&from) && query.topics[2].contains(&to));
                assert_eq!(asks.count(), 1);
            }
        }
    }

    #[test]
    fn transfers_between_a_wallet_and_some_contracts_are_one_query() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let peers = [4, 5].map(B256::with_last_byte);
        let hints = peers.map(|peer| hint(8, Naming::With(peer))).to_vec();
        assert_eq!(
            asked(std::slice::from_ref(&pool), hints.clone(), WALLET),
            [([1, 1, 0, 0], 1), ([5, 0, 1, 0], 1), ([1, 0, 0, 1], 1), ([1, 3, 3, 0], 1)]
        );
        assert_eq!(asked(&[pool], hints, Address::ZERO), [([1, 1, 0, 0], 1), ([5, 0, 1, 0], 1), ([1, 0, 0, 1], 1)]);
    }

    #[test]
    fn a_history_is_gone_on_with_by_two_queries() {
        let pool = Market::sample(Protocol::LenderAV3, 1);
        let comet = Market::sample(Protocol::LenderBV3, 3);
        let holder = hint(8, Naming::Holder(Address::repeat_byte(7)));
        let tail = |markets: &[Market], hints: Vec<Option<Vec<Hint>>>| -> Vec<_> {
            let plan = Plan::tail(markets, hints.into(), WALLET);
            plan.queries.iter().map(|query| (query.topics.each_ref().map(Vec::len), query.addresses.len())).collect()
        };
        let both = [pool.clone(), comet];
        assert_eq!(
            tail(&both, vec![Some(vec![holder.clone()]), Some(vec![])]),
            [([5, 1, 0, 0], 3), ([11, 0, 1, 0], 3)]
        );
        let peers = vec![holder, hint(9, Naming::With(B256::with_last_byte(4)))];
        assert_eq!(tail(std::slice::from_ref(&pool), vec![Some(peers)]), [([2, 1, 0, 0], 3), ([6, 0, 1, 0], 3)]);
        // Without the list of aTokens, no hint leads to the liquidations of a pool.
        assert_eq!(tail(&[pool], vec![Some(vec![])]), [([1, 1, 0, 0], 1), ([5, 0, 1, 0], 1), ([1, 0, 0, 1], 1)]);
    }
}
