//! The list of logs by contract and topics, in the explorers' format.

use serde_json::{Value, json};

use super::row::Row;
use super::{Asked, Flavour, MOST, Reply};

/// Returns the row of a log in a block with this time.
pub(super) fn row(log: &Value, time: &Value) -> Value {
    let mut row = log.clone();
    row["timeStamp"] = time.clone();
    (row["gasPrice"], row["gasUsed"]) = ("0x1".into(), "0x5208".into());
    // Etherscan writes zero without a digit.
    for key in ["logIndex", "transactionIndex"] {
        if row[key] == "0x0" {
            row[key] = "0x".into();
        }
    }
    row
}

/// Returns the page requested by `asked` from all logs in chain order.
pub(super) fn page(rows: &[Row], asked: &Asked, flavour: Flavour, reply: &Reply) -> Vec<Value> {
    let head = rows.last().map(|row| row.block).unwrap_or_default();
    let to =
        if let Reply::Lags(blocks) = reply { asked.to_block.min(head.saturating_sub(*blocks)) } else { asked.to_block };
    let address = asked.address.to_ascii_lowercase();
    let topics = [&asked.topic1, &asked.topic2, &asked.topic3];
    let covers = |row: &&Row| {
        (asked.from_block..=to).contains(&row.block)
            && (address.is_empty() || row.names(&address))
            && topics.iter().zip(1..).all(|(wanted, at)| row.has_topic(at, wanted.as_deref()))
    };
    let lacks = |row: &&Row| {
        matches!(reply,
        Reply::Lacks(start) if row.shown["transactionHash"].as_str().is_some_and(|hash| hash.starts_with(start)))
    };
    let cap = if let Reply::Capped(cap) = reply { *cap } else { MOST };
    let size = asked.offset.clamp(1, cap);
    let skipped = asked.page.saturating_sub(1) * size;
    let mut page: Vec<Value> = rows
        .iter()
        .filter(covers)
        .filter(|row| !lacks(row))
        .skip(skipped)
        .take(size)
        .map(|row| row.shown.clone())
        .collect();
    if flavour == Flavour::Blockscout {
        for topics in page.iter_mut().filter_map(|row| row["topics"].as_array_mut()) {
            topics.resize(4, Value::Null);
        }
    }
    spoil(&mut page, reply);
    page
}

fn spoil(page: &mut Vec<Value>, reply: &Reply) {
    match reply {
        Reply::Doubled => *page = page.iter().flat_map(|row| [row.clone(), row.clone()]).collect(),
        Reply::Foreign => {
            if let Some(mut foreign) = page.first().cloned() {
                foreign["transactionHash"] = json!(alloy::primitives::B256::repeat_byte(0xf2));
                page.insert(0, foreign);
            }
        }
        Reply::Backwards => page.reverse(),
        Reply::Damaged => {
            if let Some(row) = page.first_mut() {
                row["blockNumber"] = json!("soon");
            }
        }
        Reply::Behind => page.clear(),
        _ => {}
    }
}
