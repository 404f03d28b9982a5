//! What is known of the nonce of a wallet, and what to ask next. The nonce only grows, so that two nonces bracket the
//! block in which it reached a number: 1 in the block of the first transaction, its present value in that of the last.
//! Asks nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    bracket::Bracket,
    round::{Goal, SearchPlan, SearchRound, Width},
};
use assay_evm::client::Block;

/// Brackets of at most this width get their ends dated: some hours to a week of blocks.
const DATED_WIDTH: u64 = 50_000;
/// A bracket this narrow is searched to its end: that takes two rounds of few calls.
const NARROW: u64 = 64;
const DAY: u64 = 86_400;
/// Blocks around a bracket tell its times if they are at most so many of its widths apart.
const CLOSE: u64 = 16;
const HALF_A_DAY: u64 = DAY / 2;
/// A bracket that is this short, in seconds, counts as after the midnight in it. So does one whose blocks usually take
/// no longer: the chain stood still there, and the transaction is among the last blocks before or the first ones after.
const SHORT: u64 = 5_400;

/// The nonce of a wallet after a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub block: u64,
    pub nonce: u64,
}

/// What was learned so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Search {
    /// Nonces after blocks.
    pub(super) nonces: BTreeMap<u64, u64>,
    pub(super) blocks: BTreeMap<u64, Block>,
    /// Blocks whose state is missing.
    missing: BTreeSet<u64>,
    /// Whether the wallet had a balance after block 0.
    funded: Option<bool>,
}

/// When the nonce reached a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dated {
    In(Block),
    /// Not later than in this block, on the UTC day that begins at its time. Of a transaction less than 90 minutes
    /// before midnight, or before the chain stood still, it can be the next day.
    On(Block),
    /// After the first block and not later than in the second, if such blocks are known.
    Between(Option<Block>, Option<Block>),
    /// In a block whose state is missing.
    Missing,
}

impl Search {
    pub(super) fn of(nonces: BTreeMap<u64, u64>) -> Self {
        Self { nonces, ..Self::default() }
    }

    /// Learns the nonce after a block; `None` if the endpoint does not have its state.
    pub(super) fn learn(&mut self, block: u64, nonce: Option<u64>) {
        match nonce {
            Some(nonce) => _ = self.nonces.insert(block, nonce),
            None => _ = self.missing.insert(block),
        }
    }

    pub(super) fn learn_block(&mut self, block: Block) {
        self.blocks.insert(block.number, block);
    }

    pub(super) fn learn_first_balance(&mut self, is_any: bool) {
        self.funded = Some(is_any);
    }

    /// The next questions. Empty if nothing is left to ask.
    pub(super) fn round(&self, top: Point, plan: SearchPlan) -> SearchRound {
        let mut round = SearchRound::default();
        for target in targets(top) {
            let bracket = self.bracket(target, top);
            let (nonces, blocks) = self.questions(bracket, top, plan);
            round.nonces.extend(nonces);
            round.blocks.extend(blocks.into_iter().filter(|block| !self.blocks.contains_key(block)));
        }
        if self.is_odd(top) {
            let asked = self.nonces.contains_key(&0) || self.missing.contains(&0);
            round.nonces.extend((!asked).then_some(0));
            round.first_balance = plan.genesis_accounts && self.funded.is_none();
        }
        round
    }

    /// The nonces and the blocks to ask for of one bracket.
    fn questions(&self, bracket: Bracket, top: Point, plan: SearchPlan) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let SearchPlan { goal, width, .. } = plan;
        let none = BTreeSet::new;
        if goal == Goal::Day && self.day(bracket).is_some() {
            return (none(), none());
        }
        if bracket.is_over() {
            return (none(), bracket.low_seen.then_some(bracket.high).into_iter().collect());
        }
        if bracket.width() <= width.decided() {
            let candidates = bracket.low + 1..=bracket.high;
            return (bracket.probes(width.later), candidates.collect());
        }
        let is_whole = bracket.ends() == [0, top.block];
        let equal = bracket.probes(if is_whole { width.first } else { width.later });
        if goal == Goal::Day && bracket.low_seen {
            return if bracket.width() > NARROW { self.towards_a_day(bracket, equal, width) } else { (equal, none()) };
        }
        let dated = !width.is_halving() && bracket.low_seen && bracket.width() <= DATED_WIDTH;
        (equal, if dated { bracket.ends().into() } else { none() })
    }

    /// The questions by which the day of a bracket is found: `equal` parts until it is as long as some hours usually
    /// are, then the midnight in it.
    fn towards_a_day(&self, bracket: Bracket, equal: BTreeSet<u64>, width: Width) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let Some(usual) = self.usual_seconds(bracket) else {
            // The time of a second block tells how fast the chain is.
            let lowest = equal.first().copied().into_iter().collect();
            return (equal, lowest);
        };
        let ends: BTreeSet<u64> = bracket.ends().into();
        if usual > HALF_A_DAY {
            let near = !width.is_halving() && usual <= 4 * HALF_A_DAY;
            return (equal, if near { ends } else { BTreeSet::new() });
        }
        let is_usual = |(from, to): &(u64, u64)| (usual / 2..=2 * usual).contains(&(to - from));
        let nonces = match self.times(bracket).filter(is_usual) {
            Some((from, to)) => {
                let are_known = bracket.ends().iter().all(|end| self.blocks.contains_key(end));
                let margin = if are_known { 0 } else { usual / 16 };
                let Some(midnight) = midnight(from.saturating_sub(margin), to + margin) else {
                    return (BTreeSet::new(), ends);
                };
                let ahead = u128::from(bracket.width()) * u128::from(midnight.saturating_sub(from));
                let ahead = u64::try_from(ahead.div_ceil(u128::from(to - from).max(1))).unwrap_or(0);
                bracket.around(bracket.low + ahead, width.later)
            }
            // Unknown, or the chain stood still there, or was slower or faster than usual.
            None => BTreeSet::new(),
        };
        let nonces = if nonces.is_empty() { equal } else { nonces };
        let blocks = nonces.iter().copied().chain(ends).collect();
        (nonces, blocks)
    }

    /// The start of the day of a bracket, if it is known.
    fn day(&self, bracket: Bracket) -> Option<u64> {
        let [low, high] = bracket.ends().map(|end| self.blocks.get(&end));
        let (low, high) = low.zip(high).filter(|_| bracket.low_seen)?;
        let midnight = high.time / DAY * DAY;
        let is_short = || self.usual_seconds(bracket).is_some_and(|usual| usual <= SHORT);
        (low.time >= midnight || high.time - low.time <= SHORT || is_short()).then_some(midnight)
    }

    /// How long the blocks of a bracket usually take; `None` while the times of fewer than two blocks are known.
    fn usual_seconds(&self, bracket: Bracket) -> Option<u64> {
        let ((first, low), (last, high)) = self.blocks.first_key_value().zip(self.blocks.last_key_value())?;
        let (blocks, seconds) = (last - first, high.time.saturating_sub(low.time));
        let usual = u128::from(bracket.width()) * u128::from(seconds) / u128::from(Some(blocks).filter(|b| *b > 0)?);
        u64::try_from(usual).ok()
    }

    /// The times of the ends of a bracket, estimated from blocks close around it; `None` if no such blocks are known.
    fn times(&self, bracket: Bracket) -> Option<(u64, u64)> {
        let low = self.blocks.range(..=bracket.low).next_back().map(|(_, block)| block)?;
        let high = self.blocks.range(bracket.high..).next().map(|(_, block)| block)?;
        let (blocks, seconds) = (high.number - low.number, high.time.checked_sub(low.time)?);
        let time = |number: u64| {
            let part = u128::from(seconds) * u128::from(number - low.number) / u128::from(blocks.max(1));
            low.time + u64::try_from(part).unwrap_or(seconds)
        };
        (blocks <= bracket.width().saturating_mul(CLOSE)).then(|| (time(bracket.low), time(bracket.high)))
    }

    /// When the nonce reached `target`, which it has at `top`.
    pub(crate) fn dated(&self, target: u64, top: Point) -> Dated {
        let bracket = self.bracket(target, top);
        let before = || self.blocks.range(..=bracket.low).next_back();
        let through = self.blocks.range(bracket.high..).next().map(|(_, block)| *block);
        let high = through.filter(|block| block.number == bracket.high);
        match high.filter(|_| bracket.is_over()) {
            _ if bracket.is_over() && !bracket.low_seen => Dated::Missing,
            Some(block) => Dated::In(block),
            None => match self.day(bracket).zip(high) {
                Some((time, high)) => Dated::On(Block { time, ..high }),
                None => Dated::Between(before().filter(|_| bracket.low_seen).map(|(_, block)| *block), through),
            },
        }
    }

    /// The block by which the last transaction is dated, once it is.
    pub(super) fn last(&self, top: Point) -> Option<Block> {
        match self.dated(top.nonce, top) {
            Dated::In(block) => Some(block),
            Dated::On(block) => self.blocks.get(&block.number).copied(),
            Dated::Between(..) | Dated::Missing => None,
        }
    }

    /// Whether both transactions are dated as exactly as `goal`, or cannot be.
    pub(crate) fn is_over(&self, top: Point, goal: Goal) -> bool {
        self.round(top, SearchPlan { goal, width: Width::HALVING, genesis_accounts: false }).is_empty()
    }

    /// Whether a transaction is in a block whose state is missing.
    pub(super) fn is_hopeless(&self, top: Point) -> bool {
        targets(top).any(|target| self.dated(target, top) == Dated::Missing)
    }

    /// Whether the answers cannot all be true: nonces that fall, or a nonce before the first block of the chain, in
    /// which nobody could send. An endpoint that ignores the block of a question answers so. Where the chain began with
    /// the accounts of another one, the wallet must have had a balance then.
    pub(super) fn is_contradictory(&self, top: Point, genesis_accounts: bool) -> bool {
        let nonces = || self.nonces.range(..=top.block).map(|(_, nonce)| *nonce).chain([top.nonce]);
        let at_first = self.nonces.get(&0).is_some_and(|nonce| *nonce > 0);
        let impossible = !genesis_accounts || self.funded == Some(false);
        !nonces().is_sorted() || (at_first && impossible)
    }

    /// Whether each block that was looked at has the newest nonce. That is so for a wallet that was only used early,
    /// and if the endpoint ignores the block: the nonce after block 0 tells.
    fn is_odd(&self, top: Point) -> bool {
        let mut nonces = self.nonces.range(1..top.block);
        let lowest = nonces.next().map(|(_, nonce)| *nonce);
        top.nonce > 0 && lowest == Some(top.nonce) && self.bracket(1, top).low == 0
    }

    /// What is needed to continue from `top` later, up to block `through`.
    pub(super) fn pruned(&self, top: Point, through: u64) -> Self {
        let brackets = targets(top).map(|target| self.bracket(target, top));
        let ends: BTreeSet<u64> = brackets.flat_map(Bracket::ends).collect();
        let first = self.blocks.keys().next().copied();
        let mut kept = self.clone();
        kept.missing.clear();
        kept.nonces.retain(|block, _| ends.contains(block));
        // The first one tells how fast the chain is.
        kept.blocks.retain(|block, _| ends.contains(block) || first == Some(*block));
        kept.through(through)
    }

    /// Without what is after block `through`.
    pub(super) fn through(mut self, through: u64) -> Self {
        self.nonces.retain(|block, _| *block <= through);
        self.blocks.retain(|block, _| *block <= through);
        self
    }

    /// The blocks among which the nonce has reached `target`.
    fn bracket(&self, target: u64, top: Point) -> Bracket {
        let before_top = || self.nonces.range(..top.block);
        let seen = before_top().rev().find(|(_, nonce)| **nonce < target).map_or(0, |(block, _)| *block);
        let reached = before_top().find(|(block, _)| **block > seen);
        let high = reached.map_or(top.block, |(block, _)| *block);
        // Nodes drop the oldest state first: what is before a missing state is missing too.
        let missing = self.missing.range(..high).next_back().copied().filter(|missing| *missing > seen);
        Bracket { low: missing.unwrap_or(seen), high, low_seen: missing.is_none() }
    }
}

/// The nonces that the first and the last transaction reached.
fn targets(top: Point) -> impl Iterator<Item = u64> {
    let last = (top.nonce > 1).then_some(top.nonce);
    (top.nonce > 0).then_some(1).into_iter().chain(last)
}

/// A midnight after `from` and not after `to`.
fn midnight(from: u64, to: u64) -> Option<u64> {
    Some(to / DAY * DAY).filter(|midnight| *midnight > from)
}
