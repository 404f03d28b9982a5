//! What every read of lending history on one chain shares: the client, the markets, and the records of earlier reads.

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

/// What a read needs besides the wallet. Shared by all reads of a chain.
pub struct Reader {
    pub chain: ChainId,
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub store: Store,
    /// Tasks of writes. They must end before the store is closed.
    pub tasks: TaskTracker,
    pub logs: LogLimits,
    pub finality: u64,
    /// Where histories begin that it has.
    pub index: Option<Arc<dyn Index>>,
    /// A source of first histories where the endpoint answers for short ranges alone.
    pub whole: Option<Arc<dyn WholeRange>>,
    /// The newest records, also before they are on disk.
    pub recent: Recent,
}

/// Records by wallet, one entry per market.
pub struct Recent(Cache<Address, Arc<[Option<Settled>]>>);

/// Wallets whose records are cached.
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
            tracing::error!(chain = self.chain, %error, "lending progress cannot be read; the history is read from its start");
            vec![None; self.markets.len()]
        })
    }

    /// Caches `records`, and writes `batch`, their changes, in the background. A response does not wait for the disk:
    /// what a crash loses is read again.
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
    /// `head`, with the one through which history is settled then.
    pub(super) fn anchors(&self, records: &[Option<Settled>], indexed: Option<u64>, head: Block) -> Vec<u64> {
        let known = records.iter().flatten().map(|record| record.through).chain(indexed);
        let known = known.filter(|block| *block <= head.number);
        let mut numbers: Vec<u64> = known.chain(self.settles(records, head)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    /// The block through which a read settles history. `None` while the chain is shorter than its finality, and where
    /// all records end less than another finality before that block: a tail of twice the length costs nothing more, and
    /// a new record costs a block and a write.
    pub(super) fn settles(&self, records: &[Option<Settled>], head: Block) -> Option<u64> {
        let deepest = head.number.checked_sub(self.finality)?;
        let due = |record: &Option<Settled>| {
            record.as_ref().is_none_or(|record| record.through.saturating_add(self.finality) <= deepest)
        };
        records.iter().any(due).then_some(deepest)
    }

    /// Removes the records of these markets. A write in the background may follow the removal: the cache counts until a
    /// restart, and after that the record is doubted again.
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
            "settled lending history is read again: the chain was replaced below it, its amounts were not known, or the position contradicts it");
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
