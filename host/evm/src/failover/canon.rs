//! The blocks that are known to be on the chain of the newest head. What stands under one head stands under every head
//! that descends from it, so a block need not be asked for again as long as heads name each other as parents.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{anchors::Anchors, request::Block};
use assay_domain::B256;

/// Blocks that are remembered.
const MAX_STANDING: usize = 16_384;
/// Heads whose parents are remembered: some minutes of a fast chain.
const MAX_LINKS: usize = 512;

/// What is known of the chain below the newest head. Nothing that is on disk: a new process asks.
#[derive(Default)]
pub(crate) struct Canon(Mutex<State>);

#[derive(Default)]
struct State {
    links: Links,
    /// The head that the blocks stand under.
    head: Option<Block>,
    standing: BTreeMap<u64, Block>,
}

/// The parents of recent heads, by their hashes.
#[derive(Default)]
struct Links {
    parents: HashMap<B256, B256>,
    order: VecDeque<B256>,
}

/// What is known of the blocks by which a read checks what is stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    /// These stand under the head of the read, if `below` does.
    pub standing: BTreeMap<u64, Block>,
    /// An earlier head that the head of the read may or may not descend from.
    pub below: Option<Block>,
    /// The numbers of the others.
    pub open: BTreeSet<u64>,
}

impl Canon {
    /// Learns that `parent` is the hash of the block before `head`.
    pub(super) fn link(&self, head: Block, parent: B256) {
        self.state().links.add(head.hash, parent);
    }

    /// What is known of `anchors` for a read at `head`.
    pub(crate) fn known(&self, head: Block, anchors: &Anchors) -> Known {
        let state = self.state();
        let Some(under) = state.head.filter(|under| under.number <= head.number) else { return Known::none(anchors) };
        let is_known = |number: u64| state.standing.get(&number).copied().filter(|block| anchors.are_of(block));
        let standing: BTreeMap<_, _> =
            anchors.numbers().filter_map(|number| is_known(number).map(|block| (number, block))).collect();
        let open = anchors.numbers().filter(|number| !standing.contains_key(number)).collect();
        let below = (!standing.is_empty() && !state.links.descends(head, under)).then_some(under);
        Known { standing, below, open }
    }

    /// Learns what was `found` of `anchors` for a read at `head`, which descends from `below` if that was asked.
    pub(crate) fn learn(
        &self,
        head: Block,
        below: Option<Block>,
        anchors: &Anchors,
        found: impl Iterator<Item = Block>,
    ) {
        let mut state = self.state();
        if let Some(under) = state.head {
            if under.number > head.number {
                return;
            }
            if below != Some(under) && !state.links.descends(head, under) {
                state.standing.clear();
            }
        }
        state.head = Some(head);
        // A block other than the stored one is asked for again by the next read: its endpoint may be wrong.
        state.standing.extend(found.filter(|block| anchors.allow(block)).map(|block| (block.number, block)));
        while state.standing.len() > MAX_STANDING {
            state.standing.pop_first();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Nothing: all `anchors` are to be asked for.
    pub(crate) fn none(anchors: &Anchors) -> Self {
        Self { open: anchors.numbers().collect(), ..Self::default() }
    }
}

impl Links {
    fn add(&mut self, head: B256, parent: B256) {
        if self.parents.insert(head, parent).is_none() {
            self.order.push_back(head);
        }
        if self.order.len() > MAX_LINKS
            && let Some(oldest) = self.order.pop_front()
        {
            self.parents.remove(&oldest);
        }
    }

    /// Whether `head` is `under`, or is known to descend from it.
    fn descends(&self, head: Block, under: Block) -> bool {
        let mut hash = head.hash;
        for _ in under.number..head.number {
            match self.parents.get(&hash) {
                Some(parent) => hash = *parent,
                None => return false,
            }
        }
        hash == under.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The block `number` of the fork `fork`.
    fn block(number: u64, fork: u8) -> Block {
        let mut hash = [fork; 32];
        hash[..8].copy_from_slice(&number.to_be_bytes());
        Block { number, hash: hash.into(), time: number }
    }

    fn anchors(blocks: &[Block]) -> Anchors {
        blocks.iter().copied().collect()
    }

    fn linked(fork: u8, numbers: std::ops::RangeInclusive<u64>) -> Canon {
        let canon = Canon::default();
        numbers.for_each(|number| canon.link(block(number, fork), block(number - 1, fork).hash));
        canon
    }

    #[test]
    fn a_block_is_asked_for_once_while_heads_name_their_parents() {
        let canon = linked(1, 100..=103);
        let stored = anchors(&[block(40, 1)]);
        assert_eq!(canon.known(block(100, 1), &stored), Known::none(&stored));
        canon.learn(block(100, 1), None, &stored, [block(40, 1)].into_iter());
        for head in [100, 101, 103] {
            let known = canon.known(block(head, 1), &stored);
            assert_eq!((known.below, known.open.len()), (None, 0), "{head}");
            assert_eq!(known.standing, [(40, block(40, 1))].into());
        }
    }

    #[test]
    fn over_a_gap_the_earlier_head_answers_for_every_block_below_it() {
        let canon = linked(1, 100..=100);
        let stored = anchors(&[block(40, 1), block(50, 1)]);
        canon.learn(block(100, 1), None, &stored, [block(40, 1), block(50, 1)].into_iter());
        let known = canon.known(block(120, 1), &stored);
        assert_eq!((known.below, known.standing.len(), known.open.len()), (Some(block(100, 1)), 2, 0));
        // It stands: so do they, also for the next read.
        canon.learn(block(120, 1), known.below, &stored, std::iter::empty());
        assert_eq!(canon.known(block(120, 1), &stored).below, None);
        // It does not: nothing is known.
        canon.learn(block(121, 2), None, &stored, std::iter::empty());
        assert_eq!(canon.known(block(121, 2), &stored), Known::none(&stored));
    }

    #[test]
    fn another_block_than_the_stored_one_is_never_known_and_an_older_head_changes_nothing() {
        let canon = linked(1, 100..=101);
        let stored = anchors(&[block(40, 1)]);
        canon.learn(block(100, 1), None, &stored, [block(40, 9)].into_iter());
        assert_eq!(canon.known(block(101, 1), &stored), Known::none(&stored));
        canon.learn(block(101, 1), None, &stored, [block(40, 1)].into_iter());
        canon.learn(block(90, 1), None, &stored, std::iter::empty());
        assert_eq!(canon.known(block(90, 1), &stored), Known::none(&stored));
        assert_eq!(canon.known(block(101, 1), &stored).standing.len(), 1);
        let other = anchors(&[block(40, 2)]);
        assert_eq!(canon.known(block(101, 1), &other), Known::none(&other));
    }

    #[test]
    fn what_is_asked_for_without_a_hash_is_known_to_those_who_store_it() {
        let canon = linked(1, 100..=101);
        let mut new = Anchors::default();
        new.add(40, None);
        canon.learn(block(100, 1), None, &new, [block(40, 1)].into_iter());
        assert_eq!(canon.known(block(101, 1), &new), Known::none(&new), "without a hash it is asked");
        assert_eq!(canon.known(block(101, 1), &anchors(&[block(40, 1)])).open.len(), 0);
    }

    #[test]
    fn memory_is_bounded() {
        let canon = linked(1, 1..=2_000);
        assert_eq!(canon.state().links.parents.len(), MAX_LINKS);
        let many: Vec<_> = (0..20_000).map(|number| block(number, 1)).collect();
        canon.learn(block(30_000, 1), None, &anchors(&many), many.iter().copied());
        assert_eq!(canon.state().standing.len(), MAX_STANDING);
    }
}
