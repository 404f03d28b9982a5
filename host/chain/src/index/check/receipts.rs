//! The logs in the receipts of some transactions.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{primitives::U64, rpc::types::Log};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::index::indexer::Indexer;
use assay_domain::B256;
use assay_evm::{Client, Fault};

/// Receipts in one request.
const AT_ONCE: usize = 20;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Receipt {
    transaction_hash: B256,
    block_hash: B256,
    block_number: U64,
    logs: Vec<Log>,
}

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
                let asks = part.iter().map(|hash| ("eth_getTransactionReceipt", json!([hash])));
                for (hash, answer) in part.iter().zip(client.batch(asks.collect()).await?) {
                    if let Some(logs) = checked(*hash, answer?)? {
                        found.insert(*hash, logs);
                    }
                }
            }
        }
        Ok(found.into_values().flatten().collect())
    }
}

/// The logs in `answer`, the receipt of a transaction; `None` where there is none.
fn checked(transaction: B256, answer: Value) -> Result<Option<Vec<Log>>, Fault> {
    let receipt: Option<Receipt> = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    let Some(receipt) = receipt else { return Ok(None) };
    let here = (Some(receipt.block_hash), Some(receipt.block_number.to::<u64>()), Some(transaction));
    let place = |log: &Log| (log.block_hash, log.block_number, log.transaction_hash);
    let is_valid = receipt.transaction_hash == transaction && receipt.logs.iter().all(|log| place(log) == here);
    if is_valid {
        Ok(Some(receipt.logs))
    } else {
        Err(Fault::Malformed(format!("receipt of {transaction}: that of another place")))
    }
}
