//! JSON-RPC requests as values, and blocks and numbers in their answers.

use alloy::primitives::U64;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::fault::Fault;
use assay_domain::{B256, Time, U256, time_from_unix};

/// One request of a batch: its method and its parameters.
pub type Ask = (&'static str, Value);

/// The fields of a block that readers need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    pub number: u64,
    pub hash: B256,
    /// Unix seconds.
    pub time: u64,
}

impl Block {
    pub fn moment(self) -> Time {
        time_from_unix(self.time)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BlockHeader {
    number: U64,
    hash: B256,
    timestamp: U64,
    /// Some nodes leave it out.
    parent_hash: Option<B256>,
}

impl BlockHeader {
    pub(crate) fn parent(&self) -> Option<B256> {
        self.parent_hash
    }
}

impl From<BlockHeader> for Block {
    fn from(header: BlockHeader) -> Self {
        Self { number: header.number.to(), hash: header.hash, time: header.timestamp.to() }
    }
}

/// The request for a block by number, without its transactions.
pub fn ask_block(number: u64) -> Ask {
    ("eth_getBlockByNumber", json!([hex(number), false]))
}

/// The answer to [`ask_block`].
pub fn block_from(answer: Value) -> Result<Option<Block>, Fault> {
    let header: Option<BlockHeader> = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    Ok(header.map(Block::from))
}

/// A JSON-RPC quantity as a number.
pub fn quantity(answer: Value) -> Result<u64, Fault> {
    let number: U256 = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    u64::try_from(number).map_err(|error| Fault::Malformed(error.to_string()))
}

/// Block parameter for the state after one block, even if another block has replaced it.
pub fn pinned(block: B256) -> Value {
    json!({ "blockHash": block })
}

/// A number in JSON-RPC notation.
pub fn hex(number: u64) -> String {
    format!("{number:#x}")
}
