//! The state of a search between reads, valid until its blocks are replaced.

use std::collections::BTreeMap;

use super::state::{Point, Search};
use crate::activity::records::SentProgress;
use assay_domain::{B256, Seen};
use assay_evm::client::Block;

/// What earlier reads learned of a wallet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct KnownNonces {
    search: Search,
    /// A final block. What was learned through it holds while it is on the chain.
    anchor: Option<Block>,
    /// The block by which the last transaction is dated, if that is after the anchor. All that was learned holds while
    /// it is on the chain.
    tail: Option<Block>,
}

impl KnownNonces {
    /// What holds of `search` beyond this read; `anchor` is final.
    pub(super) fn of(search: &Search, top: Point, anchor: Option<Block>) -> Self {
        let mut search = search.clone();
        // A later read begins there.
        search.learn(top.block, Some(top.nonce));
        let last = search.last(top).filter(|last| anchor.is_none_or(|anchor| anchor.number < last.number));
        let through = last.or(anchor).map_or(0, |block| block.number);
        Self { search: search.pruned(top, through), anchor, tail: last }
    }

    /// The blocks by which it is checked.
    pub(crate) fn anchors(&self) -> impl Iterator<Item = Block> {
        self.anchor.into_iter().chain(self.tail)
    }

    /// What still holds on a chain that has `blocks`, with those at the numbers of the [`anchors`](Self::anchors).
    pub(crate) fn verified(self, blocks: &BTreeMap<u64, Block>) -> Search {
        let is_there = |anchor: &Block| blocks.get(&anchor.number).is_some_and(|block| block.hash == anchor.hash);
        if self.tail.as_ref().is_some_and(is_there) {
            return self.search;
        }
        match self.anchor.filter(is_there) {
            Some(anchor) => self.search.through(anchor.number),
            None => Search::default(),
        }
    }

    /// The part that does not change any more; `None` if there is none.
    pub(super) fn record(&self) -> Option<SentProgress> {
        let anchor = self.anchor?;
        let settled = self.search.clone().through(anchor.number);
        (!settled.nonces.is_empty()).then(|| SentProgress {
            settled_to_block: anchor.number,
            settled_block_hash: anchor.hash,
            nonces: settled.nonces,
            seen: settled
                .blocks
                .into_values()
                .map(|block| Seen { block: block.number, time: block.moment() })
                .collect(),
        })
    }
}

impl From<SentProgress> for KnownNonces {
    fn from(record: SentProgress) -> Self {
        let mut search = Search::of(record.nonces);
        for seen in record.seen {
            let time = u64::try_from(seen.time.timestamp()).unwrap_or(0);
            search.learn_block(Block { number: seen.block, hash: B256::ZERO, time });
        }
        let anchor = Block { number: record.settled_to_block, hash: record.settled_block_hash, time: 0 };
        Self { search, anchor: Some(anchor), tail: None }
    }
}
