//! Finds changes of a base position that no log shows, in old state.
//!
//! A transfer of the base asset is logged only as far as it moves supply. The debt that it moves is in no log; if it
//! moves nothing else, the log does not name the wallet either. The market keeps a principal for each wallet, which
//! changes with its base position but not with interest: it is the same from one block with logs to the next, unless a
//! change between them was not logged. A search then finds its block, and so does a comparison of the amounts within
//! each block with logs. An unlogged change of debt is one borrowing or one repayment. It is accepted if the market
//! logged no other change of the wallet in the block than those that were read.
//!
//! Two such changes of a debt between two blocks with logs may cancel each other. Besides the principal, the market
//! keeps the index of its rewards at the last change. If this index differs and the principal does not, the same search
//! finds the blocks. A market that pays borrowers no rewards keeps no such trace; the gap is reported. Two changes
//! in one block that cancel each other are not found.
//!
//! The same comparison finds missing logs: each block's amounts must lead from one principal to the next, and each part
//! of the position must have changed by an event of its kind.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{
    primitives::{Bytes, I256},
    sol_types::SolCall,
};
use serde_json::{Value, json};

use super::{
    events::{ABSORB_COLLATERAL, SIGNATURES, read},
    position::{principal, userBasicCall},
    principal::{Indexes, LoggedAmounts, event},
    terms::totalsBasicCall,
    transfers::debts,
};
use crate::{
    figures::record::{Side, StatePosition, Unexplained},
    limits,
    protocols::{EventKind, Obstacle, Quest, Unlogged},
};
use assay_evm::{
    Call, Fault, Span,
    client::hex,
    logs::{LogQuery, in_order},
};

/// Parts into which each round of the search divides a span: with sixteen, seven rounds find a block among 25 million.
const PARTS: u64 = 16;

/// Finds the unlogged changes that `quest` is looking for.
pub(super) async fn find(quest: Quest<'_>) -> Result<Unlogged, Obstacle> {
    let mut logged = BTreeMap::<u64, LoggedAmounts>::new();
    quest.logged.iter().for_each(|(block, moved)| logged.entry(*block).or_default().add(moved.amount));
    let mut kinds = BTreeMap::<u64, BTreeSet<EventKind>>::new();
    quest.events.iter().for_each(|(block, kind)| _ = kinds.entry(*block).or_default().insert(*kind));
    if logged.len() > limits::LOGGED_BLOCKS {
        return Err(Obstacle::Lasting(Unexplained::TooMany));
    }
    let span = quest.span;
    let before = span.from.saturating_sub(1);
    let known = quest.before.map(|shown| (before, (shown.principal, shown.touched))).into_iter().collect();
    let mut state = OldState { quest, known };
    let edges = logged.keys().flat_map(|block| [block.saturating_sub(1), *block]);
    state.learn(edges.chain([before, span.to])).await?;
    let (between, is_untraced) = state.to_search(between(span, logged.keys().copied()));
    let mut blocks = state.search(between).await?;
    blocks.extend(
        logged.iter().filter(|(block, logged)| state.moved(**block) || !logged.net().is_zero()).map(|(b, _)| b),
    );
    let mut changes = Vec::new();
    for ComparedBlock { block, hidden, needed } in state.compared(&blocks, &logged).await? {
        let mut kinds = kinds.remove(&block).unwrap_or_default();
        if let Some(hidden) = hidden {
            let (kind, amount) = event(hidden);
            let told = state.verify(block, logged.get(&block).copied().unwrap_or_default()).await?;
            changes.push((block, (!told.contains(&kind)).then_some(kind), amount));
            kinds.insert(kind);
        }
        if !needed.iter().all(|any| any.iter().any(|kind| kinds.contains(kind))) {
            return Err(Obstacle::Lasting(Unexplained::LogsMissing));
        }
    }
    let (principal, touched) = state.at(span.to);
    Ok(Unlogged { changes, after: StatePosition { block: span.to, principal, touched }, is_untraced })
}

/// The parts of `span` between these blocks, which are in order.
fn between(span: Span, blocks: impl Iterator<Item = u64>) -> Vec<Span> {
    let (mut spans, mut from) = (Vec::new(), span.from);
    for block in blocks.chain([span.to.saturating_add(1)]) {
        if from < block {
            spans.push(Span { from, to: block.saturating_sub(1) });
        }
        from = block.saturating_add(1);
    }
    spans
}

/// What is known of a wallet's position.
struct OldState<'a> {
    quest: Quest<'a>,
    /// The principal after these blocks, and the index of rewards at its last change.
    known: BTreeMap<u64, (I256, u64)>,
}

/// The change of a position in a block, compared with its logs.
struct ComparedBlock {
    block: u64,
    /// The change that the logs do not show.
    hidden: Option<I256>,
    /// For each entry, the block must have an event of one of these kinds.
    needed: Vec<&'static [EventKind]>,
}

impl OldState<'_> {
    fn at(&self, block: u64) -> (I256, u64) {
        self.known.get(&block).copied().unwrap_or_default()
    }

    fn principal(&self, block: u64) -> I256 {
        self.at(block).0
    }

    /// Whether the principal changed in this block; it must be known before and after.
    fn moved(&self, block: u64) -> bool {
        self.principal(block.saturating_sub(1)) != self.principal(block)
    }

    /// Whether debt can have changed in `span`; changes of supply have logs.
    fn changed(&self, span: Span) -> bool {
        let (before, touched) = self.at(span.from.saturating_sub(1));
        let (after, touched_after) = self.at(span.to);
        before != after || (!before.is_positive() && touched != touched_after)
    }

    /// The `spans`, none of which has logs, with a change, and whether a change in the others could have left no trace.
    fn to_search(&self, spans: Vec<Span>) -> (Vec<Span>, bool) {
        let is_owing = |span: &Span| self.principal(span.to).is_negative();
        let is_untraced = |span: &Span| is_owing(span) && !self.changed(*span) && self.at(span.to).1 == 0;
        let mut is_unsure = spans.iter().any(is_untraced);
        let (mut found, mut touched): (Vec<Span>, Vec<Span>) = spans
            .into_iter()
            .filter(|span| self.changed(*span))
            .partition(|span| self.principal(span.from.saturating_sub(1)) != self.principal(span.to));
        if touched.len() > limits::TOUCHED_SPANS {
            (is_unsure, touched) = (true, Vec::new());
        }
        found.append(&mut touched);
        (found, is_unsure)
    }

    /// Learns the position after each of `blocks`.
    async fn learn(&mut self, blocks: impl Iterator<Item = u64>) -> Result<(), Fault> {
        let blocks: BTreeSet<u64> = blocks.filter(|block| !self.known.contains_key(block)).collect();
        let account = self.quest.wallet;
        let answers = self.ask(&blocks, &userBasicCall { account }).await?;
        self.known.extend(answers.into_iter().map(|(block, basic)| {
            let known = basic.and_then(|basic| Some((principal(&basic)?, basic.baseTrackingIndex)));
            (block, known.unwrap_or_default())
        }));
        Ok(())
    }

    /// What a view of the market returned after each of `blocks`; `None` before the market existed.
    async fn ask<C: SolCall>(&self, blocks: &BTreeSet<u64>, view: &C) -> Result<Vec<(u64, Option<C::Return>)>, Fault> {
        let call = Call::new(self.quest.market, view);
        let answers =
            self.quest.client.batch(blocks.iter().map(|block| call.ask(json!(hex(*block)))).collect()).await?;
        blocks.iter().zip(answers).map(|(block, answer)| Ok((*block, returned::<C>(answer)?))).collect()
    }

    /// The blocks of `spans` with a change, of the principal or only of the index of rewards.
    async fn search(&mut self, mut spans: Vec<Span>) -> Result<BTreeSet<u64>, Obstacle> {
        let mut found = BTreeSet::new();
        loop {
            spans.retain(|span| self.changed(*span));
            let (blocks, wider): (Vec<_>, Vec<_>) = spans.into_iter().partition(|span| span.width() == 1);
            found.extend(blocks.iter().map(|span| span.to));
            if found.len() + wider.len() > limits::UNLOGGED_CHANGES {
                return Err(Obstacle::Lasting(Unexplained::TooMany));
            }
            if wider.is_empty() {
                return Ok(found);
            }
            spans = wider.iter().flat_map(|span| span.pieces(span.width().div_ceil(PARTS))).collect();
            self.learn(spans.iter().map(|span| span.to)).await?;
        }
    }

    /// The changes in `blocks` that the logs do not show, in chain order.
    async fn compared(
        &self,
        blocks: &BTreeSet<u64>,
        logged: &BTreeMap<u64, LoggedAmounts>,
    ) -> Result<Vec<ComparedBlock>, Obstacle> {
        let blocks: BTreeSet<u64> =
            blocks.iter().copied().filter(|b| self.moved(*b) || logged.contains_key(b)).collect();
        let (mut found, blocks) = (Vec::new(), &blocks);
        for (block, totals) in self.ask(blocks, &totalsBasicCall {}).await? {
            // The market updates its indexes in every block in which it changes a principal.
            let totals = totals.ok_or_else(|| Fault::Malformed(format!("no indexes in block {block}")))?;
            let indexes = Indexes { supply: totals.baseSupplyIndex, borrow: totals.baseBorrowIndex };
            let (before, after) = (self.principal(block.saturating_sub(1)), self.principal(block));
            let logged = logged.get(&block).copied().unwrap_or_default();
            let hidden = indexes.hidden(before, after, logged).map_err(Obstacle::Lasting)?;
            found.push(ComparedBlock { block, hidden, needed: indexes.needed(before, after, logged) });
        }
        Ok(found)
    }

    /// Checks that the market logged nothing else about the wallet in `block`: a query over one block may return a log
    /// that a query over many left out. A seizure means that a log of the debt is missing. Returns the events that
    /// transfers in the block show in part.
    async fn verify(&self, block: u64, logged: LoggedAmounts) -> Result<Vec<EventKind>, Obstacle> {
        let query = LogQuery { addresses: vec![self.quest.market], ..LogQuery::default() };
        let mut logs = self.quest.client.believed_logs(&query, Span { from: block, to: block }).await?;
        in_order(&mut logs);
        let wallet = self.quest.wallet.into_word();
        let names = |topics: &[_]| {
            SIGNATURES.iter().any(|s| topics.first() == Some(&s.topic0) && topics.get(s.wallet_at) == Some(&wallet))
        };
        let own: Vec<_> = logs.iter().filter(|log| names(log.topics())).collect();
        let mut shown = LoggedAmounts::default();
        let told = debts(&logs.iter().collect::<Vec<_>>(), wallet);
        let moves = read(&own, wallet).into_iter().filter_map(|read| read.moved);
        let moves = moves.filter(|moved| moved.side == Side::Base).chain(told.iter().map(|(_, moved, _)| *moved));
        moves.for_each(|moved| shown.add(moved.amount));
        let seized = own.iter().any(|log| log.topic0() == Some(&ABSORB_COLLATERAL));
        if seized || shown != logged {
            return Err(Obstacle::Lasting(Unexplained::LogsMissing));
        }
        Ok(told.into_iter().map(|(kind, ..)| kind).collect())
    }
}

/// The value that a view returned; `None` if there was no contract.
fn returned<C: SolCall>(answer: Result<Value, Fault>) -> Result<Option<C::Return>, Fault> {
    let data: Bytes = serde_json::from_value(answer?).map_err(|error| Fault::unreadable(&error))?;
    if data.is_empty() {
        return Ok(None);
    }
    C::abi_decode_returns(&data).map(Some).map_err(|error| Fault::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_blocks_is_every_other_block() {
        let cut = |blocks: &[u64]| {
            let spans = between(Span { from: 10, to: 20 }, blocks.iter().copied());
            spans.into_iter().map(|span| (span.from, span.to)).collect::<Vec<_>>()
        };
        assert_eq!(cut(&[]), [(10, 20)]);
        assert_eq!(cut(&[10, 20]), [(11, 19)]);
        assert_eq!(cut(&[12, 13, 17]), [(10, 11), (14, 16), (18, 20)]);
        assert_eq!(cut(&[20]), [(10, 19)]);
    }
}
