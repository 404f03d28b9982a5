//! What became of blocks that were read.

use std::collections::{HashMap, HashSet};

use assay_domain::{B256, ChainId, ReadBlock};

/// Blocks of earlier events, as the chains have them now.
#[derive(Debug, Clone, Default)]
pub struct ChainFacts {
    /// Blocks that are not in their chain any more.
    pub orphaned: HashSet<B256>,
    /// Blocks of which that is not known: their chain did not answer, or has no block of their number now.
    pub unknown: HashSet<B256>,
    /// The newest final block of each chain.
    pub settled: HashMap<ChainId, u64>,
}

impl ChainFacts {
    pub(super) fn is_unsure_of(&self, blocks: &[ReadBlock]) -> bool {
        !self.has_orphan(blocks) && blocks.iter().any(|block| self.unknown.contains(&block.hash))
    }

    pub(crate) fn has_orphan(&self, blocks: &[ReadBlock]) -> bool {
        blocks.iter().any(|block| self.orphaned.contains(&block.hash))
    }

    pub(crate) fn are_final(&self, blocks: &[ReadBlock]) -> bool {
        let is_final = |block: &ReadBlock| self.settled.get(&block.chain_id).is_some_and(|last| block.number <= *last);
        blocks.iter().all(|block| is_final(block) && !self.unknown.contains(&block.hash))
    }
}
