//! The logs in the receipts of some transactions.

use std::collections::{BTreeMap, BTreeSet};

use alloy::rpc::types::Log;

use crate::index::indexer::Indexer;
use assay_domain::B256;
use assay_evm::{Client, Fault, logs::Receipt};

/// Receipts in one request.
const AT_ONCE: usize = 20;

impl Indexer {
    /// The logs of `transactions`. One of which no endpoint has a receipt is not in the chain.
    ///
    /// # Errors
    /// [`Fault`] where an endpoint does not answer.
    pub(super) async fn receipts(&self, transactions: &BTreeSet<B256>, clients: &[&Client]) -> Result<Vec<Log>, Fault> {
        let mut found = BTreeMap::new();
        for client in clients {
            let missing: Vec<B256> = transactions.iter().filter(|hash| !found.contains_key(*hash)).copied().collect();
            for part in missing.chunks(AT_ONCE) {
                self.budget.spend(1).await;
                let asks = part.iter().map(|hash| Receipt::ask(*hash));
                for (hash, answer) in part.iter().zip(client.batch(asks.collect()).await?) {
                    if let Some(receipt) = Receipt::read(*hash, answer?)? {
                        found.insert(*hash, receipt.logs);
                    }
                }
            }
        }
        Ok(found.into_values().flatten().collect())
    }
}
