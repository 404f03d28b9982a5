//! The rows of every list, built from a node's blocks and receipts. A reorganisation restarts the index. All explorers
//! of a node share its index.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, PoisonError};

use alloy::primitives::{Address, B256, Bytes, U256};
use alloy::sol;
use alloy::sol_types::{SolEvent, SolValue};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::logs;
use super::row::Row;
use crate::devnet::{Error, Rpc};

sol! {
    event Transfer(address indexed from, address indexed to, uint256 indexed id);
    event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value);
    event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids,
        uint256[] values);
}

#[derive(Default)]
pub(super) struct Index {
    next: u64,
    /// Hash of the previous block.
    last: Option<String>,
    lists: BTreeMap<&'static str, Vec<Row>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    log_index: U256,
}

impl Index {
    /// The index of a node.
    pub(super) fn of(rpc: &Rpc) -> Arc<Mutex<Self>> {
        static ALL: LazyLock<std::sync::Mutex<HashMap<String, Arc<Mutex<Index>>>>> = LazyLock::new(Default::default);
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(rpc.url().to_owned()).or_default().clone()
    }

    pub(super) fn rows(&self, list: &str) -> &[Row] {
        self.lists.get(list).map_or(&[], Vec::as_slice)
    }

    /// Indexes up to the newest block.
    pub(super) async fn catch_up(&mut self, rpc: &Rpc) -> Result<(), Error> {
        if let Some(last) = &self.last {
            let there: Value = rpc.request("eth_getBlockByNumber", json!([hex(self.next - 1), false])).await?;
            if there["hash"].as_str() != Some(last) {
                *self = Self::default();
            }
        }
        let head: U256 = rpc.request("eth_blockNumber", json!([])).await?;
        while self.next <= head.to::<u64>() {
            let numbers: Vec<u64> = (self.next..=head.to()).take(100).collect();
            let blocks = numbers.iter().map(|number| ("eth_getBlockByNumber", json!([hex(*number), true])));
            let blocks: Vec<Value> = rpc.batch(&blocks.collect::<Vec<_>>()).await?;
            let busy = |block: &Value| block["transactions"].as_array().is_some_and(|list| !list.is_empty());
            let asks: Vec<_> = blocks
                .iter()
                .filter(|block| busy(block))
                .map(|block| ("eth_getBlockReceipts", json!([block["number"]])))
                .collect();
            let mut receipts = rpc.batch::<Vec<Value>>(&asks).await?.into_iter();
            for block in &blocks {
                if busy(block) {
                    self.add(block, &receipts.next().unwrap_or_default());
                }
                self.last = block["hash"].as_str().map(str::to_owned);
                self.next += 1;
            }
        }
        Ok(())
    }

    fn add(&mut self, block: &Value, receipts: &[Value]) {
        let place = |at: &Value| {
            json!({ "blockNumber": decimal(&block["number"]), "timeStamp": decimal(&block["timestamp"]),
                "blockHash": block["hash"],
                "hash": at["transactionHash"], "transactionIndex": decimal(&at["transactionIndex"]),
                "confirmations": "1" })
        };
        for (tx, receipt) in block["transactions"].as_array().into_iter().flatten().zip(receipts) {
            let mut row = place(receipt);
            let failed = receipt["status"] != "0x1";
            row["nonce"] = decimal(&tx["nonce"]);
            row["from"] = tx["from"].clone();
            row["to"] = tx["to"].as_str().unwrap_or_default().into();
            row["value"] = decimal(&tx["value"]);
            row["isError"] = if failed { "1" } else { "0" }.into();
            row["txreceipt_status"] = if failed { "0" } else { "1" }.into();
            row["contractAddress"] = receipt["contractAddress"].as_str().unwrap_or_default().into();
            self.lists.entry("txlist").or_default().push(Row::of_account(row));
            for log in receipt["logs"].as_array().into_iter().flatten() {
                self.lists.entry("getLogs").or_default().push(Row::of_log(logs::row(log, &block["timestamp"])));
                let Ok(parsed) = serde_json::from_value::<Log>(log.clone()) else { continue };
                for (list, own) in transfers(&parsed) {
                    let mut row = place(log);
                    row["contractAddress"] = json!(parsed.address);
                    row["logIndex"] = parsed.log_index.to_string().into();
                    // Any token can use this name, so it proves nothing.
                    (row["tokenName"], row["tokenSymbol"], row["tokenDecimal"]) =
                        ("Tether USD".into(), "USDT".into(), "6".into());
                    own.into_iter().for_each(|(key, value)| row[key] = value);
                    self.lists.entry(list).or_default().push(Row::of_account(row));
                }
            }
        }
    }
}

type Own = Vec<(&'static str, Value)>;

/// Returns the transfers in a log, each with its list.
fn transfers(log: &Log) -> Vec<(&'static str, Own)> {
    let party = |at: usize| json!(log.topics.get(at).map(|topic| Address::from_word(*topic)));
    let between = |from, to| vec![("from", party(from)), ("to", party(to))];
    let multi = |id: U256, value: U256| {
        let own = [between(2, 3), vec![("tokenID", id.to_string().into()), ("tokenValue", value.to_string().into())]];
        ("token1155tx", own.concat())
    };
    match log.topics.first() {
        Some(&Transfer::SIGNATURE_HASH) => match (log.topics.len(), log.topics.get(3)) {
            (3, _) => {
                let value = U256::try_from_be_slice(&log.data).unwrap_or_default().to_string();
                vec![("tokentx", [between(1, 2), vec![("value", value.into())]].concat())]
            }
            (4, Some(id)) => {
                vec![(
                    "tokennfttx",
                    [between(1, 2), vec![("tokenID", U256::from_be_bytes(id.0).to_string().into())]].concat(),
                )]
            }
            _ => Vec::new(),
        },
        Some(&TransferSingle::SIGNATURE_HASH) => {
            <(U256, U256)>::abi_decode_params(&log.data).map(|(id, value)| multi(id, value)).into_iter().collect()
        }
        Some(&TransferBatch::SIGNATURE_HASH) => {
            let (ids, values) = <(Vec<U256>, Vec<U256>)>::abi_decode_params(&log.data).unwrap_or_default();
            ids.into_iter().zip(values).map(|(id, value)| multi(id, value)).collect()
        }
        _ => Vec::new(),
    }
}

fn decimal(hex: &Value) -> Value {
    hex.as_str()
        .and_then(|hex| U256::from_str_radix(hex.trim_start_matches("0x"), 16).ok())
        .unwrap_or_default()
        .to_string()
        .into()
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}
