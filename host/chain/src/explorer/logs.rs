//! The logs that an explorer lists, page by page. Assay uses only their places and topics, and reads their data from
//! the node.

use serde::Deserialize;
use serde_json::Value;

use super::{
    Explorer, ExplorerRefusal,
    pages::{PAGE, may_be_cut},
};
use crate::limits;
use assay_domain::{Address, B256};
use assay_evm::span::Span;

/// Which logs are listed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Which {
    /// Of every contract, with this value in this topic.
    Topic(usize, B256),
    Contract(Address),
}

/// The place of one log, and how it can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogRow {
    pub block: u64,
    pub transaction: B256,
    pub contract: Address,
    pub topics: Vec<B256>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLogRow {
    address: Address,
    /// Some explorers fill the list up with nulls.
    topics: Vec<Option<B256>>,
    block_number: Value,
    transaction_hash: B256,
}

impl Explorer {
    /// All logs in `span`. A log may be listed twice.
    ///
    /// # Errors
    /// [`ExplorerRefusal`], also if there are more than can be listed, and if a row or the order of rows is wrong: the
    /// list may then lack any log.
    pub(super) async fn logs(&self, which: Which, span: Span) -> Result<Vec<LogRow>, ExplorerRefusal> {
        let (mut from, mut found) = (span.from, Vec::<LogRow>::new());
        for _ in 0..limits::PAGES_OF_LOGS {
            let page = self.log_page(which, Span { from, to: span.to }).await?;
            let (count, last) = (page.len(), page.last().map_or(from, |row| row.block));
            let in_order = page.is_sorted_by_key(|row| row.block);
            let inside = page.iter().all(|row| (from..=span.to).contains(&row.block));
            if !in_order || !inside {
                return Err(ExplorerRefusal::Malformed("logs out of order or of other blocks".into()));
            }
            found.extend(page);
            if !may_be_cut(count, PAGE) {
                return Ok(found);
            }
            if last == from {
                // One block fills the page, so the rest of the block cannot be requested.
                return Err(ExplorerRefusal::TooLarge);
            }
            // The rest of the last block is on the next page, with its rows of this one.
            from = last;
        }
        Err(ExplorerRefusal::TooLarge)
    }

    async fn log_page(&self, which: Which, span: Span) -> Result<Vec<LogRow>, ExplorerRefusal> {
        let wanted = match which {
            Which::Topic(1, value) => ("topic1", value.to_string()),
            Which::Topic(2, value) => ("topic2", value.to_string()),
            Which::Topic(_, value) => ("topic3", value.to_string()),
            Which::Contract(address) => ("address", format!("{address:#x}")),
        };
        let blocks = [("fromBlock", span.from.to_string()), ("toBlock", span.to.to_string())];
        let pages = [("page", "1".to_owned()), ("offset", PAGE.to_string())];
        let rows = self.list("logs", "getLogs", std::iter::once(wanted).chain(blocks).chain(pages)).await?;
        let read: Option<Vec<LogRow>> = rows.into_iter().map(LogRow::read).collect();
        read.ok_or_else(|| ExplorerRefusal::Malformed("a log that cannot be read".into()))
    }
}

impl LogRow {
    fn read(row: Value) -> Option<Self> {
        let RawLogRow { address, topics, block_number, transaction_hash } = serde_json::from_value(row).ok()?;
        Some(Self {
            block: number(&block_number)?,
            transaction: transaction_hash,
            contract: address,
            topics: topics.into_iter().flatten().collect(),
        })
    }
}

/// A number as JSON-RPC writes it, as a decimal text or as a JSON number.
fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => match text.strip_prefix("0x") {
            Some("") => Some(0),
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
        value => value.as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_read_in_both_flavours() {
        let [hash, topic] = [1, 2].map(B256::repeat_byte);
        let row = |topics: Value, block: Value| {
            let address = Address::repeat_byte(3);
            json!({ "address": address, "topics": topics, "data": "0x", "blockNumber": block, "logIndex": "0x",
                "transactionHash": hash })
        };
        let read =
            LogRow { block: 16, transaction: hash, contract: Address::repeat_byte(3), topics: vec![topic, topic] };
        for (topics, block) in [
            (json!([topic, topic]), json!("0x10")),
            (json!([topic, topic, null, null]), json!("16")),
            (json!([topic, topic]), json!(16)),
        ] {
            assert_eq!(LogRow::read(row(topics, block)), Some(read.clone()));
        }
        assert_eq!(LogRow::read(row(json!([topic]), json!("soon"))), None);
        assert_eq!(LogRow::read(row(json!("topic"), json!("0x10"))), None);
    }
}
