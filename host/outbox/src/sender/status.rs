//! The status of sent transactions, from their receipts in the current chain.

use std::collections::BTreeMap;

use alloy::primitives::{U64, U256};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AccountView, Sender, SenderError};
use assay_domain::B256;
use assay_evm::{
    client::{Ask, ask_block, block_from},
    fault::Fault,
    logs,
};

/// The status of one transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionStatus {
    /// The node holds it and has not mined it.
    Pooled,
    /// The node has no receipt in the current chain.
    Missing,
    /// The node gave no usable answer.
    Unknown,
    Mined {
        block: u64,
        gas_used: u64,
        /// Wei that the account paid for it, with a rollup's fee for publishing it.
        cost: u64,
        /// It was not reverted.
        succeeded: bool,
        /// With enough confirmations.
        settled: bool,
    },
}

/// The part of a transaction that shows whether the node holds it.
#[derive(Deserialize)]
struct PoolTransaction {
    hash: B256,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransactionReceipt {
    transaction_hash: B256,
    block_hash: Option<B256>,
    block_number: Option<U64>,
    gas_used: U256,
    #[serde(default)]
    effective_gas_price: U256,
    #[serde(default)]
    l1_fee: U256,
    status: Option<U64>,
}

impl Sender {
    /// Whether the node holds each of `hashes`, transactions with unused nonces, in their order: [`Pooled`],
    /// [`Missing`] or [`Unknown`].
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    ///
    /// [`Pooled`]: TransactionStatus::Pooled
    /// [`Missing`]: TransactionStatus::Missing
    /// [`Unknown`]: TransactionStatus::Unknown
    pub async fn pooled(&self, hashes: &[B256]) -> Result<Vec<TransactionStatus>, SenderError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let asks: Vec<Ask> = hashes.iter().map(|hash| ("eth_getTransactionByHash", json!([hash]))).collect();
        let answers = self.client.batch(asks).await?;
        let status = |(hash, answer): (&B256, Result<Value, Fault>)| match answer.map(serde_json::from_value) {
            Ok(Ok(Some(PoolTransaction { hash: held }))) if held == *hash => TransactionStatus::Pooled,
            Ok(Ok(None)) => TransactionStatus::Missing,
            _ => TransactionStatus::Unknown,
        };
        Ok(hashes.iter().zip(answers).map(status).collect())
    }

    /// The status of each of `hashes`, in their order. A receipt of a block outside the current chain does not count.
    ///
    /// # Errors
    /// [`SenderError::Chain`].
    pub async fn statuses(&self, view: &AccountView, hashes: &[B256]) -> Result<Vec<TransactionStatus>, SenderError> {
        if hashes.is_empty() {
            return Ok(Vec::new());
        }
        let asks: Vec<Ask> = hashes.iter().map(|hash| logs::Receipt::ask(*hash)).collect();
        let answers = self.client.batch(asks).await?;
        let receipts: Vec<_> = hashes.iter().zip(answers).map(|(hash, answer)| receipt(*hash, answer?)).collect();
        let found = receipts.iter().filter_map(|receipt| receipt.as_ref().ok()?.as_ref());
        let mut blocks: BTreeMap<u64, Result<Option<B256>, Fault>> =
            found.map(|(block, ..)| (*block, Ok(None))).collect();
        let asks = blocks.keys().map(|number| ask_block(*number)).collect();
        for (known, answer) in blocks.values_mut().zip(self.client.batch(asks).await?) {
            *known = answer.and_then(block_from).map(|block| block.map(|block| block.hash));
        }
        let status = |found: &Result<Option<(u64, B256, TransactionReceipt)>, Fault>| match found {
            Err(_) => TransactionStatus::Unknown,
            Ok(None) => TransactionStatus::Missing,
            // The next view decides about a block that is newer than this view.
            Ok(Some((block, ..))) if *block > view.head.number => TransactionStatus::Unknown,
            Ok(Some((block, hash, receipt))) => match blocks.get(block) {
                Some(Ok(known)) if *known == Some(*hash) => TransactionStatus::Mined {
                    block: *block,
                    gas_used: u64::try_from(receipt.gas_used).unwrap_or(u64::MAX),
                    cost: receipt.cost(),
                    succeeded: receipt.status.is_none_or(|status| status == U64::from(1)),
                    settled: *block <= view.settled.number,
                },
                Some(Ok(_)) => TransactionStatus::Missing,
                _ => TransactionStatus::Unknown,
            },
        };
        Ok(receipts.iter().map(status).collect())
    }
}

impl TransactionReceipt {
    fn cost(&self) -> u64 {
        let gas = self.gas_used.saturating_mul(self.effective_gas_price);
        u64::try_from(gas.saturating_add(self.l1_fee)).unwrap_or(u64::MAX)
    }
}

/// A receipt with the number and hash of its block; `None` if there is no receipt.
fn receipt(hash: B256, answer: Value) -> Result<Option<(u64, B256, TransactionReceipt)>, Fault> {
    let receipt: Option<TransactionReceipt> =
        serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    let Some(receipt) = receipt else { return Ok(None) };
    if receipt.transaction_hash != hash {
        return Err(Fault::Malformed("the receipt of another transaction".into()));
    }
    Ok(receipt
        .block_number
        .map(|number| number.to())
        .zip(receipt.block_hash)
        .map(|(number, hash)| (number, hash, receipt)))
}
