//! From log queries to events: what is asked, what of the answer is believed, and in which order it counts.

use std::collections::{BTreeMap, HashSet};

use alloy::rpc::types::Log;

use super::{EventKind, Lender, Market, comet};
use crate::{
    chain::{client::LogQuery, span::Span},
    domain::{Address, B256},
};

/// One event of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Event {
    /// Index of the market in the chain's list.
    pub market: usize,
    pub kind: EventKind,
    pub block: u64,
    /// Unix seconds, where the node told it with the log.
    pub time: Option<u64>,
}

/// As few queries as tell everything: one for each topic that can name the wallet, over all markets at once.
pub(super) fn queries(markets: &[Market], wallet: Address) -> Vec<LogQuery> {
    let mut by_position = BTreeMap::<usize, LogQuery>::new();
    for market in markets {
        for signature in market.lender.signatures() {
            // Every supply that appears or disappears names the zero address, which owns none of it.
            if wallet.is_zero() && signature.topic0 == comet::TRANSFER {
                continue;
            }
            let query = by_position.entry(signature.wallet_at).or_insert_with(|| LogQuery {
                addresses: Vec::new(),
                signatures: Vec::new(),
                wallet_at: signature.wallet_at,
                wallet: wallet.into_word(),
            });
            if !query.addresses.contains(&market.config.address) {
                query.addresses.push(market.config.address);
            }
            if !query.signatures.contains(&signature.topic0) {
                query.signatures.push(signature.topic0);
            }
        }
    }
    by_position.into_values().collect()
}

/// Whether `log` is an answer to `query` over `span`, and final in its block.
pub(super) fn answers(log: &Log, query: &LogQuery, span: Span) -> bool {
    let topics = log.topics();
    !log.removed
        && query.addresses.contains(&log.address())
        && topics.first().is_some_and(|topic| query.signatures.contains(topic))
        && topics.get(query.wallet_at) == Some(&query.wallet)
        && log.block_number.is_some_and(|block| span.contains(block))
        && log.block_hash.is_some()
        && log.log_index.is_some()
}

/// The events in checked logs, each log once, in the order of the chain.
pub(super) fn events(markets: &[Market], wallet: Address, mut logs: Vec<Log>) -> Vec<Event> {
    let mut seen = HashSet::<(Option<B256>, Option<u64>)>::new();
    logs.retain(|log| seen.insert((log.block_hash, log.log_index)));
    logs.sort_by_key(|log| (log.block_number, log.log_index));
    let (mut found, wallet) = (Vec::new(), wallet.into_word());
    for (index, market) in markets.iter().enumerate() {
        let own: Vec<&Log> =
            logs.iter().filter(|log| log.address() == market.config.address && is_own(market.lender, log, wallet)).collect();
        found.extend(market.lender.events(&own, wallet).into_iter().filter_map(|(kind, log)| {
            let time = log.block_timestamp.filter(|time| *time > 0);
            Some(Event { market: index, kind, block: log.block_number?, time })
        }));
    }
    found.sort_by_key(|event| event.block);
    found
}

/// A query over several protocols also returns logs that mean something in another one.
fn is_own(lender: Lender, log: &Log, wallet: B256) -> bool {
    let topics = log.topics();
    lender.signatures().iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, LogData};

    use super::*;
    use crate::{
        chain::lending::aave::{SIGNATURES_V2, SIGNATURES_V3},
        config::MarketConfig,
        domain::Protocol,
    };

    const WALLET: Address = Address::repeat_byte(0xaa);
    const SPAN: Span = Span { from: 10, to: 20 };

    fn market(byte: u8) -> Market {
        let config = MarketConfig { protocol: Protocol::LenderAV3, market: None, address: Address::repeat_byte(byte), from_block: 0 };
        Market { lender: Lender::AaveV3, config }
    }

    fn log(pool: u8, signature: usize, block: u64, index: u64) -> Log {
        let signature = SIGNATURES_V3[signature];
        let mut topics = vec![signature.topic0, B256::ZERO, B256::ZERO, B256::ZERO];
        topics[signature.wallet_at] = WALLET.into_word();
        Log {
            inner: alloy::primitives::Log { address: Address::repeat_byte(pool), data: LogData::new_unchecked(topics, Bytes::new()) },
            block_hash: Some(B256::with_last_byte(block as u8)),
            block_number: Some(block),
            block_timestamp: Some(1_000 + block),
            log_index: Some(index),
            ..Log::default()
        }
    }

    #[test]
    fn two_queries_cover_all_pools() {
        let queries = queries(&[market(1), market(2)], WALLET);
        assert_eq!(queries.len(), 2);
        assert_eq!((queries[0].wallet_at, queries[0].signatures.len(), queries[0].addresses.len()), (2, 4, 2));
        assert_eq!((queries[1].wallet_at, queries[1].signatures.len()), (3, 1));
    }

    #[test]
    fn a_market_that_names_the_wallet_first_needs_a_query_of_its_own() {
        let mut comet = market(3);
        (comet.lender, comet.config.protocol) = (Lender::Comet, Protocol::LenderBV3);
        let asked = |queries: Vec<LogQuery>| -> Vec<_> {
            queries.iter().map(|query| (query.wallet_at, query.signatures.len(), query.addresses.len())).collect()
        };
        assert_eq!(asked(queries(&[comet.clone()], WALLET)), [(1, 4, 1), (2, 5, 1)]);
        assert_eq!(asked(queries(&[market(1), comet.clone()], WALLET)), [(1, 4, 1), (2, 9, 2), (3, 1, 1)]);
        assert_eq!(asked(queries(&[comet], Address::ZERO)), [(1, 3, 1), (2, 4, 1)]);
    }

    #[test]
    fn only_what_was_asked_for_is_believed() {
        let query = &queries(&[market(1)], WALLET)[0];
        assert!(answers(&log(1, 0, 15, 0), query, SPAN));
        let mut other_wallet = query.clone();
        other_wallet.wallet = B256::with_last_byte(9);
        let mut bad = [log(2, 0, 15, 0), log(1, 4, 15, 0), log(1, 0, 9, 0), log(1, 0, 21, 0), log(1, 0, 15, 0), log(1, 0, 15, 0)];
        bad[4].removed = true;
        bad[5].block_hash = None;
        for log in &bad {
            assert!(!answers(log, query, SPAN), "{log:?}");
        }
        assert!(!answers(&log(1, 0, 15, 0), &other_wallet, SPAN));
    }

    #[test]
    fn a_log_given_twice_is_one_event() {
        let logs = vec![log(1, 3, 16, 2), log(1, 0, 15, 1), log(1, 3, 16, 2), log(2, 2, 12, 7)];
        let events = events(&[market(1), market(2)], WALLET, logs);
        let told: Vec<_> = events.iter().map(|e| (e.market, e.kind, e.block, e.time)).collect();
        assert_eq!(
            told,
            [(1, EventKind::Borrow, 12, Some(1_012)), (0, EventKind::Supply, 15, Some(1_015)), (0, EventKind::Repay, 16, Some(1_016)),]
        );
    }

    #[test]
    fn events_that_two_versions_share_are_told_by_the_pool() {
        let mut old = market(3);
        (old.lender, old.config.protocol) = (Lender::AaveV2, Protocol::LenderAV2);
        let markets = [market(1), old];
        let queries = queries(&markets, WALLET);
        assert_eq!(queries.iter().map(|query| (query.signatures.len(), query.addresses.len())).collect::<Vec<_>>(), [(7, 2), (1, 2)]);
        let mut deposit = log(3, 0, 14, 0);
        deposit.inner.data = LogData::new_unchecked(vec![SIGNATURES_V2[0].topic0, B256::ZERO, WALLET.into_word()], Bytes::new());
        // A pool does not speak the other version.
        let mut foreign = deposit.clone();
        (foreign.inner.address, foreign.log_index) = (Address::repeat_byte(1), Some(1));
        let events = events(&markets, WALLET, vec![deposit, foreign, log(3, 1, 15, 2), log(1, 1, 16, 3), log(3, 0, 17, 4)]);
        let told: Vec<_> = events.iter().map(|event| (event.market, event.kind)).collect();
        assert_eq!(told, [(1, EventKind::Supply), (1, EventKind::Withdraw), (0, EventKind::Withdraw)]);
    }
}
