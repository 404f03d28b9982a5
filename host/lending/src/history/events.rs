//! Turns logs into events: which logs concern which market, and their order.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{primitives::I256, rpc::types::Log};

use crate::{
    figures::{
        indexed::{Entry, What},
        sums::{Move, Sums},
    },
    history::plan::Plan,
    market::Market,
    protocols::{Before, EventKind, Evidence},
};
use assay_domain::B256;
use assay_evm::{Fault, Span, failover::Witness, logs::in_order};

/// One event of a wallet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    /// Index of the market in the chain's list.
    pub market: usize,
    pub kind: EventKind,
    pub block: u64,
    /// Unix seconds, if the node returned it with the log.
    pub time: Option<u64>,
}

/// The logs of a span of blocks.
#[derive(Debug, Default)]
pub(crate) struct FoundLogs {
    /// Logs that name the wallet, checked.
    pub logs: Vec<Log>,
    /// Logs of the markets, and those that match hints, in the transactions that are read as a whole.
    pub receipts: Vec<Log>,
    /// Whether the endpoint answered no query over all contracts.
    pub is_unscoped: bool,
    /// Blocks whose header proves that `receipts` have every log of these transactions.
    pub proven: BTreeSet<u64>,
    /// In chain order, who gave them. Nothing for logs that another source named.
    pub asked: Vec<Asked>,
}

/// Who answered the queries of a plan over a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub span: Span,
    /// In the order of the queries; `None` for one that no endpoint answers.
    pub witnesses: Vec<Option<Witness>>,
}

/// The events and amounts of a wallet in all markets in a span, each list in chain order.
#[derive(Debug, Default)]
pub(crate) struct Extract {
    pub events: Vec<Event>,
    pub moves: Vec<Moved>,
    /// Markets, by index, and blocks in which their logs may not show everything, or lack one, with the least that the
    /// wallet owned after them.
    pub incomplete: BTreeMap<(usize, u64), I256>,
}

/// An amount that moved in a market.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moved {
    /// Index of the market in the chain's list.
    pub market: usize,
    pub block: u64,
    pub amount: Move,
}

impl FromIterator<Self> for FoundLogs {
    fn from_iter<I: IntoIterator<Item = Self>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), |mut all, piece| {
            all.logs.extend(piece.logs);
            all.receipts.extend(piece.receipts);
            all.is_unscoped |= piece.is_unscoped;
            all.proven.extend(piece.proven);
            all.asked.extend(piece.asked);
            all
        })
    }
}

/// For each market, the next block to read and the amounts before it.
pub(crate) type AllBefore = Vec<(u64, Sums)>;

/// The events and amounts in `found`. Some markets need what was read `before`. Each log counts once.
pub(crate) fn extract(markets: &[Market], plan: &Plan, found: &mut FoundLogs, before: &AllBefore) -> Extract {
    in_order(&mut found.logs);
    in_order(&mut found.receipts);
    let (mut extract, wallet) = (Extract::default(), plan.wallet.into_word());
    for (index, (market, hints)) in markets.iter().zip(plan.hints.iter()).enumerate() {
        let Some(hints) = hints else { continue };
        let evidence = Evidence {
            own: named(found, |log| market.is_own(log, wallet)),
            hints: named(found, |log| hints.iter().any(|hint| hint.is(log, wallet))),
            receipts: found.receipts.iter().filter(|log| log.address() == market.config.address).collect(),
            listed: hints,
            before: before.get(index).map(|(next, sums)| Before { next: *next, sums }),
        };
        extract.add(index, market, &evidence, wallet);
    }
    let is_proven = |(index, block): &(usize, u64)| {
        found.proven.contains(block) && markets.get(*index).is_some_and(Market::logs_everything)
    };
    extract.incomplete.retain(|place, _| !is_proven(place));
    extract.events.sort_by_key(|event| event.block);
    extract
}

/// The logs that name a wallet, by `is_named`. A receipt may have logs that a query left out.
fn named(found: &FoundLogs, is_named: impl Fn(&Log) -> bool) -> Vec<&Log> {
    let all = found.logs.iter().chain(&found.receipts);
    let mut named: Vec<&Log> = all.filter(|log| is_named(log)).collect();
    named.sort_by_key(|log| (log.block_number, log.log_index));
    named.dedup_by_key(|log| (log.block_hash, log.log_index));
    named
}

impl Extract {
    /// Adds the events and amounts of `wallet` that `evidence` of the market at `index` shows.
    pub(crate) fn add(&mut self, index: usize, market: &Market, evidence: &Evidence<'_>, wallet: B256) {
        self.events.extend(market.protocol.events(evidence, wallet).into_iter().filter_map(|(kind, log)| {
            let time = log.block_timestamp.filter(|time| *time > 0);
            Some(Event { market: index, kind, block: log.block_number?, time })
        }));
        for (owned, log) in market.protocol.partial_logs().iter().flat_map(|logs| logs.incomplete(evidence, wallet)) {
            let place = (index, log.block_number.unwrap_or_default());
            self.incomplete.entry(place).and_modify(|most| *most = owned.max(*most)).or_insert(owned);
        }
        for log in market.protocol.unpaired(evidence, wallet) {
            self.incomplete.entry((index, log.block_number.unwrap_or_default())).or_insert(I256::ZERO);
        }
        let moves = market.protocol.moves(evidence, wallet).into_iter();
        self.moves
            .extend(moves.filter_map(|(amount, log)| Some(Moved { market: index, block: log.block_number?, amount })));
    }
}

impl Extract {
    /// Everything extracted for one market, in chain order.
    ///
    /// # Errors
    /// [`Fault`] if an event has no time.
    pub(crate) fn entries(self) -> Result<Vec<Entry>, Fault> {
        let timeless = |event: &Event| Fault::Malformed(format!("no time of block {}, which has logs", event.block));
        let mut entries = Vec::with_capacity(self.events.len() + self.moves.len() + self.incomplete.len());
        for event in &self.events {
            let time = event.time.ok_or_else(|| timeless(event))?;
            entries.push(Entry { block: event.block, what: What::Event { kind: event.kind, time } });
        }
        let moves = self.moves.into_iter();
        entries.extend(moves.map(|moved| Entry { block: moved.block, what: What::Moved(moved.amount) }));
        let incomplete = self.incomplete.into_iter();
        entries.extend(incomplete.map(|((_, block), owned)| Entry { block, what: What::Incomplete { owned } }));
        // Within a block, events come before amounts.
        entries.sort_by_key(|entry| entry.block);
        Ok(entries)
    }

    /// Adds the entries of the market at `index`.
    pub(crate) fn add_entries(&mut self, index: usize, entries: &[Entry]) {
        for &Entry { block, what } in entries {
            match what {
                What::Event { kind, time } => {
                    self.events.push(Event { market: index, kind, block, time: Some(time) });
                }
                What::Moved(amount) => self.moves.push(Moved { market: index, block, amount }),
                What::Incomplete { owned } => _ = self.incomplete.insert((index, block), owned),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Bytes, LogData};

    use super::*;
    use crate::{
        position::terms_cache::hints,
        protocols::aave::{SIGNATURES_V2, SIGNATURES_V3},
    };
    use assay_domain::{Address, Protocol};
    use assay_evm::logs::answers;

    const WALLET: Address = Address::repeat_byte(0xaa);
    const SPAN: Span = Span { from: 10, to: 20 };

    fn market(byte: u8) -> Market {
        Market::sample(Protocol::LenderAV3, byte)
    }

    fn plan(markets: &[Market]) -> Plan {
        Plan::new(markets, hints(markets, None), WALLET)
    }

    fn log(pool: u8, signature: usize, block: u64, index: u64) -> Log {
        let signature = SIGNATURES_V3[signature];
        let mut topics = vec![signature.topic0, B256::ZERO, B256::ZERO, B256::ZERO];
        topics[signature.wallet_at] = WALLET.into_word();
        Log {
            inner: alloy::primitives::Log {
                address: Address::repeat_byte(pool),
                data: LogData::new_unchecked(topics, Bytes::new()),
            },
            block_hash: Some(B256::with_last_byte(block as u8)),
            block_number: Some(block),
            block_timestamp: Some(1_000 + block),
            log_index: Some(index),
            ..Log::default()
        }
    }

    #[test]
    fn only_what_was_asked_for_is_believed() {
        let query = &plan(&[market(1)]).queries[1];
        assert!(answers(&log(1, 0, 15, 0), query, SPAN));
        let mut other_wallet = query.clone();
        other_wallet.topics[2] = vec![B256::with_last_byte(9)];
        let mut bad =
            [log(2, 0, 15, 0), log(1, 4, 15, 0), log(1, 0, 9, 0), log(1, 0, 21, 0), log(1, 0, 15, 0), log(1, 0, 15, 0)];
        bad[4].removed = true;
        bad[5].block_hash = None;
        for log in &bad {
            assert!(!answers(log, query, SPAN), "{log:?}");
        }
        assert!(!answers(&log(1, 0, 15, 0), &other_wallet, SPAN));
    }

    #[test]
    fn a_market_of_which_too_little_is_known_has_no_events() {
        let markets = [market(1), market(2)];
        let plan = Plan::new(&markets, [None, Some(Vec::new())].into(), WALLET);
        assert_eq!(plan.queries[0].addresses, [markets[1].config.address]);
        let logs = vec![log(1, 0, 15, 1), log(2, 0, 15, 2)];
        assert_eq!(
            extract(&markets, &plan, &mut FoundLogs { logs, ..FoundLogs::default() }, &Vec::new()).events.len(),
            1
        );
    }

    #[test]
    fn a_log_given_twice_is_one_event() {
        let logs = vec![log(1, 3, 16, 2), log(1, 0, 15, 1), log(1, 3, 16, 2), log(2, 2, 12, 7)];
        let markets = [market(1), market(2)];
        let events =
            extract(&markets, &plan(&markets), &mut FoundLogs { logs, ..FoundLogs::default() }, &Vec::new()).events;
        let events: Vec<_> = events.iter().map(|e| (e.market, e.kind, e.block, e.time)).collect();
        assert_eq!(
            events,
            [
                (1, EventKind::Borrow, 12, Some(1_012)),
                (0, EventKind::Supply, 15, Some(1_015)),
                (0, EventKind::Repay, 16, Some(1_016)),
            ]
        );
    }

    #[test]
    fn events_that_two_versions_share_are_told_by_the_pool() {
        let markets = [market(1), Market::sample(Protocol::LenderAV2, 3)];
        let mut deposit = log(3, 0, 14, 0);
        deposit.inner.data =
            LogData::new_unchecked(vec![SIGNATURES_V2[0].topic0, B256::ZERO, WALLET.into_word()], Bytes::new());
        // A pool does not emit the other version's events.
        let mut foreign = deposit.clone();
        (foreign.inner.address, foreign.log_index) = (Address::repeat_byte(1), Some(1));
        let logs = vec![deposit, foreign, log(3, 1, 15, 2), log(1, 1, 16, 3), log(3, 0, 17, 4)];
        let events =
            extract(&markets, &plan(&markets), &mut FoundLogs { logs, ..FoundLogs::default() }, &Vec::new()).events;
        let events: Vec<_> = events.iter().map(|event| (event.market, event.kind)).collect();
        assert_eq!(events, [(1, EventKind::Supply), (1, EventKind::Withdraw), (0, EventKind::Withdraw)]);
    }
}
