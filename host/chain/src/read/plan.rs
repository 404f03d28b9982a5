//! The batch of questions that the activity, the lending history and the listed transfers of a wallet share: its
//! account, and the blocks by which each checks that its stored progress is still on the chain.

use std::collections::BTreeSet;

use futures::{FutureExt, future::BoxFuture};

use super::StoredRead;
use crate::activity::{self, AnchorCheck};
use assay_domain::{Address, B256, Seen};
use assay_evm::{
    client::{Answers, Block, Client, ask_block, block_from},
    fault::Fault,
};
use assay_lending::Jobs;

/// The shared batch. The first reader that needs an answer sends it.
pub(super) struct ReadPlan {
    pub answers: Answers,
    lending_anchors: Vec<u64>,
    listed: ListedAnchor,
    /// All blocks of the batch, in the order of their answers, which follow those about the account.
    numbers: BTreeSet<u64>,
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
    pub(super) fn new(client: &Client, lending: &Jobs, stored: &StoredRead, wallet: Address, head: Block) -> Self {
        let sent_anchors = stored.sent.known.iter().flat_map(|known| known.anchors());
        let lending_anchors = lending.anchors(&stored.lending, head);
        let (anchor, hash) = (stored.listed.anchor, stored.listed.anchor_hash);
        let block = anchor.filter(|anchor| anchor.block <= head.number);
        let listed = ListedAnchor { block, hash, behind: anchor.is_some() && block.is_none() };
        let numbers = sent_anchors.filter(|number| *number <= head.number).chain(block.map(|block| block.block));
        let numbers: BTreeSet<u64> = numbers.chain(lending_anchors.iter().copied()).collect();
        let asks = activity::asks(wallet, head).into_iter().chain(numbers.iter().copied().map(ask_block));
        Self { answers: client.together(asks.collect()), lending_anchors, listed, numbers }
    }

    /// The blocks by which the stored lending history is checked.
    pub(super) fn lending_blocks(&self) -> BoxFuture<'static, Result<Vec<Option<Block>>, Fault>> {
        let (numbers, anchors) = (self.numbers.clone(), self.lending_anchors.clone());
        let blocks = self.answers.clone().map(move |answers| {
            let answers = answers?;
            let blocks =
                numbers.iter().zip(answers.iter().skip(activity::ASKS)).filter(|(number, _)| anchors.contains(number));
            blocks.map(|(_, answer)| block_from(answer.clone()?)).collect()
        });
        blocks.boxed()
    }

    /// Whether the chain still has the block through which listed transfers are settled.
    pub(super) fn listed_anchor(&self) -> AnchorCheck {
        let ListedAnchor { block, hash, behind } = self.listed;
        let place = block.and_then(|anchor| self.numbers.iter().position(|number| *number == anchor.block));
        let check = self.answers.clone().map(move |answers| {
            let Some((anchor, place)) = block.zip(place) else { return (!behind).then_some(true) };
            let block = block_from(answers.ok()?.get(place + activity::ASKS)?.clone().ok()?).ok()?;
            // An explorer's rows name no block hash: the block's time is compared instead.
            Some(block.is_some_and(|block| hash.map_or(block.moment() == anchor.time, |hash| block.hash == hash)))
        });
        check.boxed()
    }
}
