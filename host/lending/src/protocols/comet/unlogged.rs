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
//! finds the blocks. A market that pays borrowers no rewards keeps no such trace; the gap is reported.
//!
//! The same comparison finds missing logs: each block's amounts must lead from one principal to the next, and each part
//! of the position must have changed by an event of its kind. A change that no log explains may also be a log that the
//! endpoint left out, so the block itself is read ([`witness`]). It shows every log, and the transfers that were asked
//! of the market itself, of which several may be in one block. Transfers that other contracts asked for are in no part
//! of a block: their sum counts as one event, and the history says so.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{
    primitives::{Bytes, I256},
    sol_types::SolCall,
};
use serde_json::{Value, json};

use super::{
    position::{principal, userBasicCall},
    principal::Indexes,
    shown::Shown,
    terms::totalsBasicCall,
    witness::{Witness, is_claimed, witness},
};
use crate::{
    figures::record::{StatePosition, Unexplained},
    limits,
    protocols::{EventKind, Obstacle, Quest, Unlogged},
};
use assay_evm::{Call, Fault, Span, client::hex};

/// Parts into which each round of the search divides a span: with sixteen, seven rounds find a block among 25 million.
const PARTS: u64 = 16;

/// Finds the unlogged changes that `quest` is looking for.
pub(super) async fn find(quest: Quest<'_>) -> Result<Unlogged, Obstacle> {
    let mut shown = BTreeMap::<u64, Shown>::new();
    quest.logged.iter().for_each(|(block, moved)| shown.entry(*block).or_default().moves.push(*moved));
    if shown.len() > limits::LOGGED_BLOCKS {
        return Err(Obstacle::Lasting(Unexplained::TooMany));
    }
    let logged: Vec<u64> = shown.keys().copied().collect();
    quest.events.iter().for_each(|(block, kind)| shown.entry(*block).or_default().kinds.push(*kind));
    let span = quest.span;
    let before = span.from.saturating_sub(1);
    let known = quest.before.map(|shown| (before, (shown.principal, shown.touched))).into_iter().collect();
    let has_one_source = quest.client.other_endpoints().is_none();
    let mut state = OldState { quest, known, has_one_source };
    let edges = logged.iter().flat_map(|block| [block.saturating_sub(1), *block]);
    state.learn(edges.chain([before, span.to])).await?;
    let (between, is_untraced) = state.to_search(between(span, logged.iter().copied()));
    let mut unlogged = Unlogged { unsure: is_untraced.then_some(Unexplained::Untraced), ..Unlogged::default() };
    let mut blocks = state.search(between).await?;
    let is_to_compare = |block: &u64| {
        let is_told_apart = |shown: &Shown| shown.is_even() && shown.is_plain(state.around(*block));
        state.moved(*block) || !shown.get(block).is_none_or(is_told_apart)
    };
    blocks.extend(logged.into_iter().filter(is_to_compare));
    for (block, indexes) in state.indexes(blocks).await? {
        let shown = shown.remove(&block).unwrap_or_default();
        let (before, after) = state.around(block);
        if before == after && shown.moves.is_empty() {
            // Changes of supply have logs.
            if after.is_negative() && !is_claimed(&state.quest, block).await? {
                match witness(&state.quest, block).await {
                    Err(Obstacle::Lasting(_)) => unlogged.unsure = unlogged.unsure.or(Some(Unexplained::Merged)),
                    witness => {
                        let found = added(indexes, (before, after), &shown, witness?);
                        unlogged.add(block, found.map_err(Obstacle::Lasting)?);
                    }
                }
            }
            continue;
        }
        let is_whole = matches!(indexes.hidden(before, after, shown.amounts()), Ok(None));
        if is_whole && shown.is_plain((before, after)) && shown.has_kinds(indexes, before, after) {
            continue;
        }
        let found = added(indexes, (before, after), &shown, witness(&state.quest, block).await?);
        unlogged.add(block, found.map_err(Obstacle::Lasting)?);
    }
    let (principal, touched) = state.at(span.to);
    Ok(Unlogged { after: StatePosition { block: span.to, principal, touched }, ..unlogged })
}

/// What a block adds to the events and changes that are `shown`: the logs that it has in addition, each transfer that
/// was asked of the market itself, and the rest as one event. The flag is set if more than one change may be in it.
fn added(
    indexes: Indexes,
    (before, after): (I256, I256),
    shown: &Shown,
    witness: Witness,
) -> Result<(Shown, bool), Unexplained> {
    let missing = shown.missing_of(&witness.shown).ok_or(Unexplained::LogsMissing)?;
    let of_transfer = |(hidden, told): &(I256, BTreeSet<EventKind>)| Shown::of_debt(*hidden, told);
    let transfers = witness.transfers.iter().map(of_transfer).fold(Shown::default(), Shown::and);
    let logged = witness.shown.and(transfers.clone());
    let rest = indexes.hidden(before, after, logged.amounts())?;
    let hidden = rest.map(|rest| Shown::of_debt(rest, &witness.told)).unwrap_or_default();
    let whole = logged.and(hidden.clone());
    let added = missing.and(transfers).and(hidden);
    let is_used = !witness.is_accrued && before == after && added == Shown::default();
    if whole.has_kinds(indexes, before, after) {
        Ok((added, rest.is_some() || is_used))
    } else {
        Err(Unexplained::LogsMissing)
    }
}

impl Unlogged {
    /// Adds what a block shows in addition, and whether more than one change may be in it.
    fn add(&mut self, block: u64, (added, is_merged): (Shown, bool)) {
        self.events.extend(added.kinds.into_iter().map(|kind| (block, kind)));
        self.moves.extend(added.moves.into_iter().map(|moved| (block, moved)));
        self.unsure = self.unsure.or(is_merged.then_some(Unexplained::Merged));
    }
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
    /// Whether only one endpoint tells which logs there are.
    has_one_source: bool,
}

impl OldState<'_> {
    fn at(&self, block: u64) -> (I256, u64) {
        self.known.get(&block).copied().unwrap_or_default()
    }

    fn principal(&self, block: u64) -> I256 {
        self.at(block).0
    }

    /// The principals before and after this block.
    fn around(&self, block: u64) -> (I256, I256) {
        (self.principal(block.saturating_sub(1)), self.principal(block))
    }

    /// Whether the principal changed in this block; it must be known before and after.
    fn moved(&self, block: u64) -> bool {
        let (before, after) = self.around(block);
        before != after
    }

    /// Whether the position can have changed in `span`. Changes of supply have logs, of which a second endpoint knows.
    fn changed(&self, span: Span) -> bool {
        let (before, touched) = self.at(span.from.saturating_sub(1));
        let (after, touched_after) = self.at(span.to);
        before != after || (touched != touched_after && (!before.is_positive() || self.has_one_source))
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

    /// The indexes of the market in each of `blocks`. It updates them in every block in which it changes a principal.
    async fn indexes(&self, blocks: BTreeSet<u64>) -> Result<Vec<(u64, Indexes)>, Obstacle> {
        let mut found = Vec::new();
        for (block, totals) in self.ask(&blocks, &totalsBasicCall {}).await? {
            let totals = totals.ok_or_else(|| Fault::Malformed(format!("no indexes in block {block}")))?;
            found.push((block, Indexes { supply: totals.baseSupplyIndex, borrow: totals.baseBorrowIndex }));
        }
        Ok(found)
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
