//! The blocks of transactions that a read dated only to their day.

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::{Chain, unread};
use crate::activity::{self, ActivityQuestion, Goal, NodeActivity, StoredSearch};
use assay_domain::{Address, ChainSnapshot, Part};
use assay_evm::{
    client::{Block, ask_block},
    fault::Fault,
};

impl Chain {
    /// `read`, a snapshot of `wallet`, with the blocks of its first and last transaction if they are found by
    /// `deadline`; everything else stays as it is. A longer search continues in the background.
    pub(crate) async fn exact(&self, wallet: Address, read: &ChainSnapshot, deadline: Instant) -> ChainSnapshot {
        let mut exact = read.clone();
        let found = match tokio::time::timeout_at(deadline, self.block_of(read)).await {
            Ok(Ok(head)) => self.dates(wallet, head, deadline).await,
            Ok(Err(fault)) => {
                tracing::warn!(chain = self.config.id, %fault, "the block of a snapshot cannot be read");
                NodeActivity::failed(&fault)
            }
            Err(_) => NodeActivity::late(),
        };
        let is_dated = found.unread.iter().all(|unread| unread.part != Part::Transactions);
        if is_dated {
            exact.activity.first_transaction = found.activity.first_transaction;
            exact.activity.last_transaction = found.activity.last_transaction;
            exact.activity.by_day = found.activity.by_day;
        }
        exact.unread.extend(found.unread);
        exact.coverage = exact.coverage.min(unread::coverage(&exact.unread));
        exact
    }

    /// The block that `read` is of.
    async fn block_of(&self, read: &ChainSnapshot) -> Result<Block, Fault> {
        let origin = read.origin.block.ok_or(Fault::UnknownBlock)?;
        let block = self.client.block(origin.number).await?;
        block.filter(|block| block.hash == origin.hash).ok_or(Fault::UnknownBlock)
    }

    /// First and last transaction up to `head`, by their blocks.
    async fn dates(&self, wallet: Address, head: Block, deadline: Instant) -> NodeActivity {
        let StoredSearch { known, .. } = self.activity.stored(wallet, None).await;
        let anchors: BTreeSet<u64> = known.iter().flat_map(|known| known.anchors()).collect();
        let anchors = anchors.into_iter().filter(|number| *number <= head.number);
        let asks = activity::asks(wallet, head).into_iter().chain(anchors.map(ask_block)).collect();
        let answers = self.client.together(asks);
        let question = ActivityQuestion { wallet, head, answers, listed: None, goal: Goal::Block, deadline };
        self.activity.read(StoredSearch::of(known), question).await.0
    }
}
