//! The logs in the receipts of some transactions.

use std::collections::{BTreeMap, BTreeSet};

use alloy::rpc::types::Log;

use crate::follow::indexer::Indexer;
use assay_domain::B256;
use assay_evm::{Client, Fault};

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
                let receipts = client.receipts(part).await?.into_iter().flatten();
                found.extend(receipts.map(|receipt| (receipt.transaction, receipt.logs)));
            }
        }
        Ok(found.into_values().flatten().collect())
    }
}
