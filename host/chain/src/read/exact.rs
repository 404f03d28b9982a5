//! The blocks of transactions that a read dated only to their day.

use tokio::time::Instant;

use super::{Chain, unread};
use crate::activity::{ActivityQuestion, Goal, NodeActivity, StoredSearch};
use assay_domain::{Address, ChainSnapshot, Part};
use assay_evm::{client::Block, fault::Fault};

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
        let anchors = known.iter().flat_map(|known| known.anchors()).filter(|block| block.number <= head.number);
        let answers = self.activity.ask(wallet, head, anchors.collect());
        let question = ActivityQuestion { wallet, head, answers, listed: None, goal: Goal::Block, deadline };
        self.activity.read(StoredSearch::of(known), question).await.0
    }
}
