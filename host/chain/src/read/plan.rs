//! The batch of questions that the activity, the lending history and the listed transfers of a wallet share: its
//! account, and the blocks by which each checks that its stored progress is still on the chain.

use futures::FutureExt;

use super::StoredRead;
use crate::activity::{ActivityReader, AnchorCheck, Answers};
use assay_domain::{Address, B256, Seen};
use assay_evm::client::{Anchors, Block};
use assay_lending::{Blocks, Jobs};

/// The shared batch. The first reader that needs an answer sends it.
pub(super) struct ReadPlan {
    pub answers: Answers,
    listed: ListedAnchor,
}

/// The block through which listed transfers are settled.
#[derive(Clone, Copy)]
struct ListedAnchor {
    /// `None` if nothing is settled, or the chain is behind.
    block: Option<Seen>,
    hash: Option<B256>,
    /// The settled block is after the head.
    behind: bool,
}

impl ReadPlan {
    pub(super) fn new(
        activity: &ActivityReader,
        lending: &Jobs,
        stored: &StoredRead,
        wallet: Address,
        head: Block,
    ) -> Self {
        let sent = stored.sent.known.iter().flat_map(|known| known.anchors());
        let mut anchors: Anchors = sent.filter(|block| block.number <= head.number).collect();
        anchors.extend(lending.anchors(&stored.lending, head));
        let (anchor, hash) = (stored.listed.anchor, stored.listed.anchor_hash);
        let block = anchor.filter(|anchor| anchor.block <= head.number);
        if let Some(block) = block {
            anchors.add(block.block, hash);
        }
        let listed = ListedAnchor { block, hash, behind: anchor.is_some() && block.is_none() };
        Self { answers: activity.ask(wallet, head, anchors), listed }
    }

    /// The blocks by which the stored lending history is checked, among others.
    pub(super) fn lending_blocks(&self) -> Blocks {
        self.answers.clone().map(|answered| answered?.blocks.clone()).boxed()
    }

    /// Whether the chain still has the block through which listed transfers are settled.
    pub(super) fn listed_anchor(&self) -> AnchorCheck {
        let ListedAnchor { block, hash, behind } = self.listed;
        let check = self.answers.clone().map(move |answered| {
            let Some(anchor) = block else { return (!behind).then_some(true) };
            let block = answered.ok()?.blocks.as_ref().ok()?.get(&anchor.block).copied();
            // An explorer's rows name no block hash: the block's time is compared instead.
            Some(block.is_some_and(|block| hash.map_or(block.moment() == anchor.time, |hash| block.hash == hash)))
        });
        check.boxed()
    }
}
