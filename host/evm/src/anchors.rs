//! Blocks by which stored progress is checked: it holds while they are on the chain.

use std::collections::{BTreeMap, BTreeSet};

use crate::request::Block;
use assay_domain::B256;

/// Block numbers, each with the hashes that were stored with it; without one, the block is asked for the first time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Anchors(BTreeMap<u64, BTreeSet<B256>>);

impl Anchors {
    pub fn add(&mut self, number: u64, hash: Option<B256>) {
        self.0.entry(number).or_default().extend(hash);
    }

    pub fn extend(&mut self, other: Self) {
        for (number, hashes) in other.0 {
            self.0.entry(number).or_default().extend(hashes);
        }
    }

    /// In ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.0.keys().copied()
    }

    /// Whether `block` is the only one that was stored at its number.
    pub(crate) fn are_of(&self, block: &Block) -> bool {
        self.0.get(&block.number).is_some_and(|hashes| hashes.iter().eq([&block.hash]))
    }

    /// Whether `block` contradicts nothing that was stored.
    pub(crate) fn allow(&self, block: &Block) -> bool {
        self.0.get(&block.number).is_some_and(|hashes| hashes.is_empty() || hashes.contains(&block.hash))
    }
}

impl FromIterator<Block> for Anchors {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        let mut anchors = Self::default();
        blocks.into_iter().for_each(|block| anchors.add(block.number, Some(block.hash)));
        anchors
    }
}
