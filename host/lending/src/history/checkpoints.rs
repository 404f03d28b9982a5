//! Loads, saves and forgets the records of a wallet's history: in memory, and in the store in the background.

use crate::history::{
    reader::Reader,
    settled::{self, SettledHistory},
};
use assay_domain::Address;
use assay_store::{Batch, StoreError};

impl Reader {
    /// The records of `wallet`, one entry per market.
    pub(crate) async fn records(&self, wallet: Address) -> Vec<Option<SettledHistory>> {
        if let Some(recent) = self.recent.0.get(&wallet).await {
            return recent.to_vec();
        }
        settled::load(&self.store, self.chain, &self.markets, wallet).await.unwrap_or_else(|error| {
            tracing::error!(chain = self.chain, %error, "lending progress cannot be read; the history is read from its \
                                                         start");
            vec![None; self.markets.len()]
        })
    }

    /// Caches `records`, and writes `batch`, their changes, in the background. A response does not wait for the disk:
    /// records lost in a crash are read again.
    pub(crate) async fn save(
        &self,
        wallet: Address,
        records: &[Option<SettledHistory>],
        batch: Result<Batch, StoreError>,
    ) {
        self.recent.0.insert(wallet, records.into()).await;
        let (store, chain) = (self.store.clone(), self.chain);
        self.tasks.spawn("checkpoint", async move {
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

    /// Removes the records of these markets. A background write may follow the removal. The cache wins until a restart;
    /// after that the record is doubted again.
    pub(crate) async fn doubt(&self, wallet: Address, doubted: &[usize]) {
        let records = self.records(wallet).await;
        let records = self.forget(wallet, records, doubted).await;
        self.recent.0.insert(wallet, records.into()).await;
    }

    pub(crate) async fn forget(
        &self,
        wallet: Address,
        mut records: Vec<Option<SettledHistory>>,
        stale: &[usize],
    ) -> Vec<Option<SettledHistory>> {
        tracing::warn!(chain = self.chain, %wallet, markets = stale.len(),
            "settled lending history is read again: the chain was replaced below it, its amounts were not known, or \
             the position contradicts it");
        self.recent.0.invalidate(&wallet).await;
        for index in stale {
            if let (Some(market), Some(record)) = (self.markets.get(*index), records.get_mut(*index)) {
                *record = None;
                if let Err(error) = settled::forget(&self.store, self.chain, wallet, market).await {
                    tracing::error!(chain = self.chain, %error, "stale lending progress cannot be removed");
                }
            }
        }
        records
    }
}
