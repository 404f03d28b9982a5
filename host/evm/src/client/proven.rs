//! All logs of a block, proven by its header: the receipts of its transactions hash to the root that the header keeps.
//! An endpoint whose database lost a log cannot prove the block.

use alloy::{
    consensus::proofs::ordered_trie_root_encoded,
    primitives::{Bloom, Bytes, U64},
    rlp::{Encodable, Header},
    rpc::types::Log,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Client;
use crate::{
    fault::Fault,
    request::{ask_block, hex},
};
use assay_domain::{Address, B256};

/// The type of transactions from before there were types. Their receipts have no prefix.
const LEGACY: u8 = 0;

/// A transaction of a proven block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProvenTransaction {
    pub hash: B256,
    pub from: Address,
    /// `None` if it creates a contract.
    pub to: Option<Address>,
    pub succeeded: bool,
    pub logs: Vec<Log>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RootHeader {
    hash: B256,
    number: U64,
    receipts_root: B256,
    transactions: Vec<B256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HashedReceipt {
    transaction_hash: B256,
    block_hash: B256,
    from: Address,
    to: Option<Address>,
    #[serde(default, rename = "type")]
    kind: Option<U64>,
    status: U64,
    cumulative_gas_used: U64,
    logs_bloom: Bloom,
    logs: Vec<Log>,
    /// Of a deposit on a chain of the OP Stack.
    deposit_nonce: Option<U64>,
    deposit_receipt_version: Option<U64>,
}

#[derive(Deserialize)]
struct SentInput {
    input: Bytes,
}

impl Client {
    /// The transactions of a block with all of their logs; `None` if the endpoint cannot prove them.
    ///
    /// # Errors
    /// [`Fault`] if no endpoint answers now, or the block is unknown.
    pub async fn proven_block(&self, number: u64) -> Result<Option<Vec<ProvenTransaction>>, Fault> {
        let asks = vec![ask_block(number), ("eth_getBlockReceipts", json!([hex(number)]))];
        let mut answers = self.batch(asks).await?.into_iter();
        let mut next = || answers.next().unwrap_or(Ok(Value::Null));
        let header: Option<RootHeader> = serde_json::from_value(next()?).map_err(|error| Fault::unreadable(&error))?;
        let header = header.ok_or(Fault::UnknownBlock)?;
        match next() {
            Err(fault) if fault.is_no_answer() => Err(fault),
            // Not every endpoint has this method, or receipts of this age.
            answer => Ok(answer.ok().and_then(|answer| proven(&header, answer))),
        }
    }

    /// Like [`proven_block`](Self::proven_block), by another endpoint if the first cannot prove them.
    ///
    /// # Errors
    /// Those of the first endpoint.
    pub async fn proven_by_any(&self, number: u64) -> Result<Option<Vec<ProvenTransaction>>, Fault> {
        match (self.proven_block(number).await?, self.other_endpoints()) {
            (None, Some(other)) => Ok(other.proven_block(number).await.unwrap_or_default()),
            (found, _) => Ok(found),
        }
    }

    /// The call data of each of `transactions`; `None` for one that the endpoint does not have.
    pub async fn inputs(&self, transactions: &[B256]) -> Result<Vec<Option<Bytes>>, Fault> {
        let asks = transactions.iter().map(|hash| ("eth_getTransactionByHash", json!([hash]))).collect();
        let input = |answer: Result<Value, Fault>| {
            let sent: Option<SentInput> = serde_json::from_value(answer?).map_err(|error| Fault::unreadable(&error))?;
            Ok(sent.map(|sent| sent.input))
        };
        self.batch(asks).await?.into_iter().map(input).collect()
    }
}

fn proven(header: &RootHeader, answer: Value) -> Option<Vec<ProvenTransaction>> {
    let receipts: Vec<HashedReceipt> = serde_json::from_value(answer).ok()?;
    let encoded: Vec<_> = receipts.iter().map(HashedReceipt::encoded).collect();
    let is_of_block = header.transactions.iter().eq(receipts.iter().map(|receipt| &receipt.transaction_hash));
    if !is_of_block || ordered_trie_root_encoded(&encoded) != header.receipts_root {
        return None;
    }
    let is_placed = |receipt: &HashedReceipt| {
        let place = (Some(header.hash), Some(header.number.to()), Some(receipt.transaction_hash));
        let is_here = |log: &Log| (log.block_hash, log.block_number, log.transaction_hash) == place;
        receipt.block_hash == header.hash && receipt.logs.iter().all(|log| is_here(log) && log.log_index.is_some())
    };
    let whole = receipts.iter().all(is_placed);
    whole.then(|| receipts.into_iter().map(ProvenTransaction::from).collect())
}

impl HashedReceipt {
    /// The receipt as its chain hashes it.
    fn encoded(&self) -> Vec<u8> {
        let logs: Vec<_> = self.logs.iter().map(|log| &log.inner).collect();
        let mut fields = Vec::new();
        (self.status.to::<u64>() > 0).encode(&mut fields);
        self.cumulative_gas_used.to::<u64>().encode(&mut fields);
        self.logs_bloom.encode(&mut fields);
        alloy::rlp::encode_list::<_, alloy::primitives::Log>(&logs, &mut fields);
        // The nonce is hashed since the version is.
        if let (nonce, Some(version)) = (self.deposit_nonce, self.deposit_receipt_version) {
            nonce.unwrap_or_default().to::<u64>().encode(&mut fields);
            version.to::<u64>().encode(&mut fields);
        }
        let kind = self.kind.map_or(LEGACY, |kind| kind.saturating_to());
        let mut encoded = if kind == LEGACY { Vec::new() } else { vec![kind] };
        Header { list: true, payload_length: fields.len() }.encode(&mut encoded);
        encoded.append(&mut fields);
        encoded
    }
}

impl From<HashedReceipt> for ProvenTransaction {
    fn from(receipt: HashedReceipt) -> Self {
        let HashedReceipt { transaction_hash: hash, from, to, status, logs, .. } = receipt;
        Self { hash, from, to, succeeded: !status.is_zero(), logs }
    }
}

#[cfg(test)]
mod tests {
    use alloy::{
        consensus::{Eip658Value, Receipt, ReceiptEnvelope, ReceiptWithBloom, proofs::calculate_receipt_root},
        primitives::{Log as Bare, LogData},
    };

    use super::*;

    /// A block of three transactions with one log each, as a node answers for it: the header, and the receipts.
    fn block() -> (RootHeader, Value) {
        let hash = B256::repeat_byte(9);
        let bare = |byte: u8| Bare {
            address: Address::repeat_byte(byte),
            data: LogData::new_unchecked(vec![B256::repeat_byte(byte)], vec![byte; 3].into()),
        };
        let of = |byte: u8| {
            let receipt = Receipt {
                status: Eip658Value::Eip658(byte != 2),
                cumulative_gas_used: u64::from(byte) * 21_000,
                logs: vec![bare(byte)],
            };
            let sealed = ReceiptWithBloom { logs_bloom: receipt.bloom_slow(), receipt };
            match byte {
                0 => ReceiptEnvelope::Legacy(sealed),
                1 => ReceiptEnvelope::Eip1559(sealed),
                _ => ReceiptEnvelope::Eip4844(sealed),
            }
        };
        let transactions: Vec<_> = (0..3).map(B256::with_last_byte).collect();
        let root = calculate_receipt_root(&[0, 1, 2].map(of));
        let answers = [(0, "0x0"), (1, "0x2"), (2, "0x3")].map(|(byte, kind)| {
            let log = Log {
                inner: bare(byte),
                block_hash: Some(hash),
                block_number: Some(7),
                transaction_hash: Some(B256::with_last_byte(byte)),
                log_index: Some(byte.into()),
                ..Log::default()
            };
            let bloom: Bloom = [&log.inner].into_iter().collect();
            json!({
                "transactionHash": B256::with_last_byte(byte), "blockHash": hash, "from": Address::ZERO, "to": null,
                "type": kind, "status": if byte == 2 { "0x0" } else { "0x1" },
                "cumulativeGasUsed": hex(u64::from(byte) * 21_000), "logsBloom": bloom, "logs": [log],
            })
        });
        (RootHeader { hash, number: U64::from(7), receipts_root: root, transactions }, json!(answers))
    }

    #[test]
    fn the_receipts_of_a_block_hash_to_the_root_in_its_header() {
        let (header, receipts) = block();
        let proven = proven(&header, receipts).unwrap();
        let shown: Vec<_> = proven.iter().map(|one| (one.hash, one.succeeded, one.logs.len())).collect();
        assert_eq!(shown, [0, 1, 2].map(|byte| (B256::with_last_byte(byte), byte != 2, 1)));
    }

    #[test]
    fn a_log_that_is_left_out_or_changed_proves_nothing() {
        for spoil in [
            |receipts: &mut Value| receipts[1]["logs"] = json!([]),
            |receipts: &mut Value| receipts[0]["logs"][0]["data"] = json!("0x00"),
            |receipts: &mut Value| receipts[2]["status"] = json!("0x1"),
            |receipts: &mut Value| receipts[2]["logs"][0]["blockNumber"] = json!("0x8"),
            |receipts: &mut Value| _ = receipts.as_array_mut().unwrap().pop(),
            |receipts: &mut Value| *receipts = Value::Null,
        ] {
            let (header, mut receipts) = block();
            spoil(&mut receipts);
            assert!(proven(&header, receipts).is_none());
        }
    }

    #[test]
    fn a_deposit_is_hashed_with_its_nonce_since_it_has_a_version() {
        let (_, receipts) = block();
        let of = |fields: Value| {
            let mut receipt = receipts[0].clone();
            receipt["type"] = json!("0x7e");
            receipt.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            serde_json::from_value::<HashedReceipt>(receipt).unwrap().encoded()
        };
        let (bare, nonce) = (of(json!({})), of(json!({ "depositNonce": "0x5" })));
        let version = of(json!({ "depositNonce": "0x5", "depositReceiptVersion": "0x1" }));
        assert_eq!((bare.first(), &nonce), (Some(&0x7e), &bare));
        assert!(version.ends_with(&[5, 1]) && version.len() == bare.len() + 2);
    }
}
