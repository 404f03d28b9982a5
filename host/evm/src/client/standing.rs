//! Whether the blocks by which stored progress is checked are still on the chain.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Client;
use crate::{
    anchors::Anchors,
    failover::Known,
    fault::Fault,
    request::{Ask, Block, ask_block, block_from},
};

/// The check of some blocks for a read at one head. Its questions can be sent in a batch with others.
pub struct Standing {
    client: Client,
    head: Block,
    anchors: Anchors,
    known: Known,
}

impl Client {
    /// Begins the check of `anchors` for a read at `head`.
    pub fn standing(&self, head: Block, anchors: Anchors) -> Standing {
        let known = self.transport.canon().known(head, &anchors);
        Standing { client: self.clone(), head, anchors, known }
    }

    /// The blocks that the chain of `head` has at the numbers of `anchors`.
    pub async fn stand(&self, head: Block, anchors: Anchors) -> Result<BTreeMap<u64, Block>, Fault> {
        let standing = self.standing(head, anchors);
        let answers = match standing.asks() {
            asks if asks.is_empty() => Vec::new(),
            asks => self.shared_batch(asks).await?,
        };
        standing.blocks(answers).await
    }
}

impl Standing {
    pub fn asks(&self) -> Vec<Ask> {
        let below = self.known.below.map(|below| below.number);
        let numbers: BTreeSet<u64> = self.known.open.iter().copied().chain(below).collect();
        numbers.into_iter().map(ask_block).collect()
    }

    /// The blocks by number, from the answers to [`asks`](Self::asks).
    pub async fn blocks(self, answers: Vec<Result<Value, Fault>>) -> Result<BTreeMap<u64, Block>, Fault> {
        let Self { client, head, anchors, known } = self;
        let mut found = by_number(answers)?;
        let below = known.below.filter(|below| found.get(&below.number) == Some(below));
        if below == known.below {
            client.transport.canon().learn(head, below, &anchors, found.values().copied());
            found.extend(known.standing);
        } else {
            // The chain was reorganised: they are asked for after all.
            let again = known.standing.keys().copied().map(ask_block).collect();
            found.extend(by_number(client.shared_batch(again).await?)?);
            client.transport.canon().learn(head, None, &anchors, found.values().copied());
        }
        Ok(found)
    }
}

fn by_number(answers: Vec<Result<Value, Fault>>) -> Result<BTreeMap<u64, Block>, Fault> {
    let blocks = answers.into_iter().filter_map(|answer| answer.and_then(block_from).transpose());
    blocks.map(|block| block.map(|block| (block.number, block))).collect()
}
