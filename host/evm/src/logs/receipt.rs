//! The receipt of a mined transaction: its block and its logs. It is valid only if it belongs to the requested
//! transaction and each of its logs belongs to that transaction and block.

use alloy::{primitives::U64, rpc::types::Log};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{fault::Fault, request::Ask};
use assay_domain::B256;

/// A valid receipt.
#[derive(Debug)]
pub struct Receipt {
    pub transaction: B256,
    pub block: u64,
    pub block_hash: B256,
    /// Each with its block, its transaction and its index.
    pub logs: Vec<Log>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReceiptAnswer {
    transaction_hash: B256,
    block_hash: B256,
    block_number: U64,
    logs: Vec<Log>,
}

impl Receipt {
    /// Receipts in one request. That of a transaction that fills a block with logs has about eight megabytes.
    pub const AT_ONCE: usize = 20;

    /// The request for the receipt of `transaction`.
    pub fn ask(transaction: B256) -> Ask {
        ("eth_getTransactionReceipt", json!([transaction]))
    }

    /// The receipt of `transaction` in `answer`; `None` if the endpoint has none.
    ///
    /// # Errors
    /// [`Fault::Malformed`] if the answer is not a valid receipt of `transaction`.
    pub fn read(transaction: B256, answer: Value) -> Result<Option<Self>, Fault> {
        let answer: Option<ReceiptAnswer> =
            serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
        let Some(ReceiptAnswer { transaction_hash, block_hash, block_number, logs }) = answer else { return Ok(None) };
        let refused = |why: &str| Err(Fault::Malformed(format!("receipt of {transaction}: {why}")));
        if transaction_hash != transaction {
            return refused("that of another transaction");
        }
        let receipt = Self { transaction, block: block_number.to(), block_hash, logs };
        if receipt.logs.iter().any(|log| !receipt.holds(log) || log.log_index.is_none() || log.removed) {
            return refused("its logs are of another place");
        }
        Ok(Some(receipt))
    }

    /// Whether `log` belongs to this transaction and block.
    pub fn holds(&self, log: &Log) -> bool {
        (log.block_hash, log.block_number, log.transaction_hash)
            == (Some(self.block_hash), Some(self.block), Some(self.transaction))
    }
}
