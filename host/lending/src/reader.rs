//! State shared by every read of lending history on one chain: the client, the markets, and earlier records.

use std::sync::Arc;

use moka::future::Cache;
use tokio_util::task::TaskTracker;

use crate::{
    indexed::Index,
    market::Market,
    named::WholeRange,
    records::{self, Settled},
};
use assay_domain::{Address, ChainId};
use assay_evm::{Block, Client, config::LogLimits};
use assay_store::{Batch, Store, StoreError};

/// The dependencies of a read, shared by all reads of a chain.
pub struct Reader {
    pub chain: ChainId,
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub store: Store,
    /// Tasks that write. They must end before the store is closed.
    pub tasks: TaskTracker,
    pub logs: LogLimits,
    pub finality: u64,
    /// An index in which histories can begin.
    pub index: Option<Arc<dyn Index>>,
    /// A source of first histories, for endpoints that answer only for short ranges.
    pub whole: Option<Arc<dyn WholeRange>>,
    /// The newest records, even before they are on disk.
    pub recent: Recent,
}

/// Records by wallet, one entry per market.
pub struct Recent(Cache<Address, Arc<[Option<Settled>]>>);

/// Number of wallets whose records are cached.
const CACHED: u64 = 50_000;

impl Default for Recent {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(CACHED).build())
    }
}

impl Reader {
    /// The records of `wallet`, one entry per market.
    pub(super) async fn records(&self, wallet: Address) -> Vec<Option<Settled>> {
        if let Some(recent) = self.recent.0.get(&wallet).await {
            return recent.to_vec();
        }
        records::load(&self.store, self.chain, &self.markets, wallet).await.unwrap_or_else(|error| {
            tracing::error!(chain = self.chain, %error, "lending progress cannot be read; the history is read from its \
                                                         start");
            vec![None; self.markets.len()]
        })
    }

    /// Caches `records`, and writes `batch`, their changes, in the background. A response does not wait for the disk:
    /// records lost in a crash are read again.
    pub(super) async fn save(&self, wallet: Address, records: &[Option<Settled>], batch: Result<Batch, StoreError>) {
        self.recent.0.insert(wallet, records.into()).await;
        let (store, chain) = (self.store.clone(), self.chain);
        self.tasks.spawn(async move {
            let commit = async { store.commit(batch?).await };
            match commit.await {
                Ok(_) => {
                    metrics::counter!("assay_lending_checkpoints_total", "chain" => chain.to_string()).increment(1);
                }
                Err(error) => {
                    tracing::error!(chain, %error, "lending progress cannot be saved; a restart reads it again");
                }
            }
        });
    }

    /// The blocks, in ascending order, by which `records` and an index that ends at block `indexed` are checked at
    /// `head`, and the block through which history is then settled.
    pub(super) fn anchors(&self, records: &[Option<Settled>], indexed: Option<u64>, head: Block) -> Vec<u64> {
        let known = records.iter().flatten().map(|record| record.through).chain(indexed);
        let known = known.filter(|block| *block <= head.number);
        let mut numbers: Vec<u64> = known.chain(self.settles(records, head)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The block through which a read settles history. `None` while the chain is shorter than its finality, or if all
    /// records end less than another finality before that block: a tail of twice the length costs nothing more, but a
    /// new record costs a block and a write.
    pub(super) fn settles(&self, records: &[Option<Settled>], head: Block) -> Option<u64> {
        let deepest = head.number.checked_sub(self.finality)?;
        let due = |record: &Option<Settled>| {
            record.as_ref().is_none_or(|record| record.through.saturating_add(self.finality) <= deepest)
        };
        records.iter().any(due).then_some(deepest)
    }

    /// Removes the records of these markets. A background write may follow the removal. The cache wins until a restart;
    /// after that the record is doubted again.
    pub(super) async fn doubt(&self, wallet: Address, doubted: &[usize]) {
        let records = self.records(wallet).await;
        let records = self.forget(wallet, records, doubted).await;
        self.recent.0.insert(wallet, records.into()).await;
    }

    pub(super) async fn forget(
        &self,
        wallet: Address,
        mut records: Vec<Option<Settled>>,
        stale: &[usize],
    ) -> Vec<Option<Settled>> {
        tracing::warn!(chain = self.chain, %wallet, markets = stale.len(),
            "settled lending history is read again: the chain was replaced below it, its amounts were not known, or \
             the position contradicts it");
        self.recent.0.invalidate(&wallet).await;
        for index in stale {
            if let (Some(market), Some(record)) = (self.markets.get(*index), records.get_mut(*index)) {
                *record = None;
                if let Err(error) = records::forget(&self.store, self.chain, wallet, market).await {
                    tracing::error!(chain = self.chain, %error, "stale lending progress cannot be removed");
                }
            }
        }
        records
    }
}
