//! Sends transactions in a fixed order, several in a block, and stops when one fails.

use std::collections::HashMap;

use alloy::primitives::{Address, Bytes, U256};
use serde_json::{Value, json};

use super::Error;
use super::rpc::{Request, Rpc};

/// A transaction. Gas is free on the devnet.
#[derive(Debug, Clone)]
pub struct Tx {
    pub from: Address,
    /// `None` creates a contract.
    pub to: Option<Address>,
    pub data: Bytes,
    pub value: U256,
    /// Description for the error message.
    pub label: String,
}

impl Tx {
    pub fn call(from: Address, to: Address, data: impl Into<Bytes>, label: impl Into<String>) -> Self {
        Self { from, to: Some(to), data: data.into(), value: U256::ZERO, label: label.into() }
    }
}

/// Enough for the largest deployment, and below the limit per transaction of EIP-7825.
pub(super) const GAS: u64 = 12_000_000;

#[derive(Debug)]
pub struct Sender {
    rpc: Rpc,
    nonces: HashMap<Address, u64>,
    queued: Vec<Tx>,
}

impl Sender {
    pub fn new(rpc: Rpc) -> Self {
        Self { rpc, nonces: HashMap::new(), queued: Vec::new() }
    }

    pub fn queue(&mut self, tx: Tx) {
        self.queued.push(tx);
    }

    /// Queues the creation of a contract, and returns its future address.
    pub fn create(&mut self, from: Address, code: Bytes, label: impl Into<String>) -> Address {
        let queued = self.queued.iter().filter(|tx| tx.from == from).count() as u64;
        let nonce = self.nonces.get(&from).copied().unwrap_or(0) + queued;
        self.queued.push(Tx { from, to: None, data: code, value: U256::ZERO, label: label.into() });
        from.create(nonce)
    }

    /// Mines all queued transactions in one block with this time, in seconds since 1970.
    ///
    /// # Errors
    /// When the node refuses, or a transaction fails or is not in the block.
    pub async fn mine(&mut self, time: u64) -> Result<(), Error> {
        let sent = std::mem::take(&mut self.queued);
        let requests: Vec<Request> = sent
            .iter()
            .map(|tx| {
                let nonce = self.nonces.entry(tx.from).or_default();
                *nonce += 1;
                let fields = json!({
                    "from": tx.from, "to": tx.to, "data": tx.data, "value": tx.value, "nonce": U256::from(*nonce - 1),
                    "gas": U256::from(GAS), "gasPrice": "0x0",
                });
                ("eth_sendTransaction", json!([fields]))
            })
            .collect();
        let hashes: Vec<String> = self.rpc.batch(&requests).await?;
        let _: Value = self.rpc.request("evm_setNextBlockTimestamp", json!([time])).await?;
        let _: Value = self.rpc.request("evm_mine", json!([])).await?;
        let receipts: Vec<Value> = self.rpc.request("eth_getBlockReceipts", json!(["latest"])).await?;
        for (tx, hash) in sent.iter().zip(&hashes) {
            let receipt = receipts.iter().find(|receipt| receipt["transactionHash"] == hash.as_str());
            match receipt.map(|receipt| receipt["status"] == "0x1") {
                Some(true) => {}
                Some(false) => return Err(Error::Reverted { what: tx.label.clone(), why: self.reason(tx).await }),
                None => {
                    return Err(Error::Reverted {
                        what: tx.label.clone(),
                        why: "it was left out of its block".to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    async fn reason(&self, tx: &Tx) -> String {
        let call = json!([{ "from": tx.from, "to": tx.to, "data": tx.data, "value": tx.value }, "latest"]);
        match self.rpc.request::<Value>("eth_call", call).await {
            Ok(_) => "it would go through in the next block".to_owned(),
            Err(error) => error.to_string(),
        }
    }
}
