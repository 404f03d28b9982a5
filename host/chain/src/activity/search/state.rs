//! What is known of the nonce of a wallet, and what to ask next. The nonce only grows, so that two nonces bracket the
//! block in which it reached a number: 1 in the block of the first transaction, its present value in that of the last.
//! Asks nothing itself.

use std::collections::{BTreeMap, BTreeSet};

use assay_evm::client::Block;

/// Brackets of at most this width get their ends dated: some hours to a week of blocks.
const DATED_WIDTH: u64 = 50_000;
/// Probes of a round that halves each bracket. It asks for the time of the block that is found alone.
pub(super) const SPARING: u64 = 1;

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
}

/// The blocks among which the nonce of a wallet reached a number: after block `low`, and not later than after `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    pub low: u64,
    pub high: u64,
    /// The nonce after `low` is known; `false` if `low` only marks the end of missing state.
    pub low_seen: bool,
}

impl Bracket {
    pub(super) fn is_over(self) -> bool {
        self.high <= self.low + 1
    }

    /// The number of candidate blocks.
    pub(super) fn width(self) -> u64 {
        self.high.saturating_sub(self.low)
    }

    /// At most `probes` blocks that divide it into equal parts.
    pub(super) fn probes(self, probes: u64) -> BTreeSet<u64> {
        let parts = u128::from(probes) + 1;
        let width = u128::from(self.width());
        let place = |part: u128| self.low + u64::try_from(width * part / parts).unwrap_or(u64::MAX);
        let inside = |block: &u64| *block > self.low && *block < self.high;
        (1..parts).map(place).filter(inside).collect()
    }
}

/// Questions of one round trip: nonces after blocks, and blocks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Round {
    pub nonces: BTreeSet<u64>,
    pub blocks: BTreeSet<u64>,
}

/// When the nonce reached a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dated {
    In(Block),
    /// After the first block and not later than in the second, if such blocks are known.
    Between(Option<Block>, Option<Block>),
    /// In a block whose state is missing.
    Missing,
}

impl Round {
    pub(super) fn is_empty(&self) -> bool {
        self.nonces.is_empty() && self.blocks.is_empty()
    }

    /// The first round, when the nonce is not known yet: it divides the blocks up to `top`.
    pub(super) fn first(top: u64, probes: u64) -> Self {
        let all = Bracket { low: 0, high: top, low_seen: true };
        Self { nonces: all.probes(probes), blocks: BTreeSet::new() }
    }
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

    /// The next questions, at most `probes` nonces for each transaction. Empty if nothing is left to ask.
    pub(super) fn round(&self, top: Point, probes: u64) -> Round {
        let mut round = Round::default();
        for target in targets(top) {
            let bracket = self.bracket(target, top);
            if !bracket.is_over() {
                round.nonces.extend(bracket.probes(probes));
            }
            round.blocks.extend(headers(bracket, probes).filter(|block| !self.blocks.contains_key(block)));
        }
        round
    }

    /// When the nonce reached `target`, which it has at `top`.
    pub(crate) fn dated(&self, target: u64, top: Point) -> Dated {
        let bracket = self.bracket(target, top);
        let before = || self.blocks.range(..=bracket.low).next_back();
        let through = self.blocks.range(bracket.high..).next().map(|(_, block)| *block);
        match through.filter(|block| block.number == bracket.high && bracket.is_over()) {
            _ if bracket.is_over() && !bracket.low_seen => Dated::Missing,
            Some(block) => Dated::In(block),
            None => Dated::Between(before().filter(|_| bracket.low_seen).map(|(_, block)| *block), through),
        }
    }

    /// The block of the last transaction, once it is found.
    pub(super) fn last(&self, top: Point) -> Option<Block> {
        match self.dated(top.nonce, top) {
            Dated::In(block) => Some(block),
            _ => None,
        }
    }

    /// Whether nothing is left to ask.
    pub(crate) fn is_over(&self, top: Point) -> bool {
        self.round(top, 1).is_empty()
    }

    /// Whether a transaction is in a block whose state is missing.
    pub(super) fn is_hopeless(&self, top: Point) -> bool {
        targets(top).any(|target| self.dated(target, top) == Dated::Missing)
    }

    /// What is needed to continue from `top` later, up to block `through`.
    pub(super) fn pruned(&self, top: Point, through: u64) -> Self {
        let brackets = targets(top).map(|target| self.bracket(target, top));
        let ends: BTreeSet<u64> = brackets.flat_map(|bracket| [bracket.low, bracket.high]).collect();
        let mut kept = self.clone();
        kept.missing.clear();
        kept.nonces.retain(|block, _| ends.contains(block));
        kept.blocks.retain(|block, _| ends.contains(block));
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

/// The blocks whose time is of use: all that may be the one, if the probes of this round decide between them; else
/// the ends of a bracket that is narrow enough for a date.
fn headers(bracket: Bracket, probes: u64) -> impl Iterator<Item = u64> {
    let decided = if probes == SPARING { 1 } else { probes + 1 };
    let all = bracket.width() <= decided && (bracket.low_seen || !bracket.is_over());
    let ends = !all && probes != SPARING && bracket.low_seen && bracket.width() <= DATED_WIDTH;
    let candidates = if all { bracket.low + 1..bracket.high + 1 } else { 0..0 };
    candidates.chain([bracket.low, bracket.high].into_iter().filter(move |_| ends))
}
