//! The logs of transactions in which two endpoints differ, as the receipts have them.

use std::collections::{BTreeMap, BTreeSet};

use alloy::rpc::types::Log;
use serde::Deserialize;

use super::Client;
use crate::{
    fault::Fault,
    logs::Receipt,
    request::{Ask, ask_block},
};
use assay_domain::B256;

/// The part of a block that says which transactions it has.
#[derive(Deserialize)]
struct BlockAnswer {
    transactions: Vec<B256>,
}

impl Client {
    /// The logs of `transactions`, given with their blocks, from the first of this client and `others` that has the
    /// receipt. A transaction that has no receipt and is not in its block does not exist, and has no logs.
    ///
    /// # Errors
    /// [`Fault::NoReceipt`] if no endpoint has the receipt of a transaction that is in its block: many nodes
    /// keep only recent receipts. Other faults if an endpoint does not answer.
    pub async fn disputed_logs(&self, transactions: &BTreeMap<B256, u64>, others: &[&Self]) -> Result<Vec<Log>, Fault> {
        let (mut found, mut missing) = (Vec::new(), transactions.keys().copied().collect::<Vec<_>>());
        for client in [self].into_iter().chain(others.iter().copied()) {
            let mut still = Vec::new();
            for part in missing.chunks(Receipt::AT_ONCE) {
                for (transaction, receipt) in part.iter().zip(client.receipts(part).await?) {
                    match receipt {
                        Some(receipt) => found.extend(receipt.logs),
                        None => still.push(*transaction),
                    }
                }
            }
            missing = still;
        }
        let blocks: BTreeSet<u64> = missing.iter().filter_map(|hash| transactions.get(hash)).copied().collect();
        let blocks: Vec<u64> = blocks.into_iter().collect();
        for part in blocks.chunks(Receipt::AT_ONCE) {
            let asks: Vec<Ask> = part.iter().copied().map(ask_block).collect();
            for answer in self.batch(asks).await? {
                let block: Option<BlockAnswer> =
                    serde_json::from_value(answer?).map_err(|error| Fault::unreadable(&error))?;
                let block = block.ok_or(Fault::UnknownBlock)?;
                if block.transactions.iter().any(|transaction| missing.contains(transaction)) {
                    return Err(Fault::NoReceipt);
                }
            }
        }
        Ok(found)
    }
}
