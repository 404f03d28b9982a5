//! Log queries, and the form in which an endpoint returns a log. Logs are most of the data of a long history, so each
//! is parsed field by field in one pass: the client library keeps every log twice while it looks for unknown fields.

use alloy::{
    primitives::{Bytes, LogData, U64},
    rpc::types::Log,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{request::hex, span::Span};
use assay_domain::{Address, B256};

/// Logs of some contracts (all if the list is empty) with some topics.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogQuery {
    pub addresses: Vec<Address>,
    /// The values that each topic may have; any value if the list is empty. The first topic is the signature.
    pub topics: [Vec<B256>; 4],
}

impl LogQuery {
    pub fn filter(&self, span: Span) -> Value {
        let known = self.topics.iter().rposition(|topic| !topic.is_empty()).map_or(0, |last| last + 1);
        let topics: Vec<Value> = self
            .topics
            .iter()
            .take(known)
            .map(|topic| if topic.is_empty() { Value::Null } else { json!(topic) })
            .collect();
        let mut filter = json!({ "topics": topics, "fromBlock": hex(span.from), "toBlock": hex(span.to) });
        // Not every endpoint accepts an empty list, or null, for all contracts.
        if let Some(fields) = filter.as_object_mut().filter(|_| !self.addresses.is_empty()) {
            fields.insert("address".into(), json!(self.addresses));
        }
        filter
    }
}

/// The contracts, signatures and wallet topics of a query. Queries of one form can share a request.
pub(crate) type QueryForm = (Vec<Address>, Vec<B256>, [bool; 4]);

impl LogQuery {
    /// Whether a log of `contract` with these topics matches the query.
    pub fn fits(&self, contract: Address, topics: &[B256]) -> bool {
        let fits = |(at, wanted): (usize, &Vec<B256>)| {
            wanted.is_empty() || topics.get(at).is_some_and(|topic| wanted.contains(topic))
        };
        self.topics.iter().enumerate().all(fits) && (self.addresses.is_empty() || self.addresses.contains(&contract))
    }

    /// Equal for queries over the same contracts and signatures that differ in the values of other topics.
    pub(crate) fn form(&self) -> QueryForm {
        let [signatures, ..] = &self.topics;
        (self.addresses.clone(), signatures.clone(), self.topics.each_ref().map(Vec::is_empty))
    }

    /// A query whose answer contains the answers to this one and to `other`, of the same form.
    #[must_use]
    pub(crate) fn with(mut self, other: &Self) -> Self {
        for (values, more) in self.topics.iter_mut().zip(&other.topics) {
            for value in more {
                if !values.contains(value) {
                    values.push(*value);
                }
            }
        }
        self
    }
}

/// A log in an answer.
#[derive(Debug, Deserialize)]
#[serde(try_from = "RawLog")]
pub struct Received(pub Log);

/// A log as JSON-RPC returns it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawLog {
    address: Address,
    topics: Vec<B256>,
    data: Bytes,
    block_hash: Option<B256>,
    block_number: Option<U64>,
    block_timestamp: Option<U64>,
    transaction_hash: Option<B256>,
    transaction_index: Option<U64>,
    log_index: Option<U64>,
    #[serde(default)]
    removed: bool,
}

impl TryFrom<RawLog> for Received {
    type Error = &'static str;

    fn try_from(log: RawLog) -> Result<Self, &'static str> {
        let data = LogData::new(log.topics, log.data).ok_or("a log with more than four topics")?;
        let number = |number: U64| number.to::<u64>();
        Ok(Self(Log {
            inner: alloy::primitives::Log { address: log.address, data },
            block_hash: log.block_hash,
            block_number: log.block_number.map(number),
            block_timestamp: log.block_timestamp.map(number),
            transaction_hash: log.transaction_hash,
            transaction_index: log.transaction_index.map(number),
            log_index: log.log_index.map(number),
            removed: log.removed,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Log, String> {
        serde_json::from_str(text).map(|Received(log)| log).map_err(|error| error.to_string())
    }

    #[test]
    fn a_log_is_what_the_library_makes_of_it() {
        let hash = B256::repeat_byte(7);
        let topics = |count: usize| json!(vec![hash; count]);
        let log = |topics: Value| {
            json!({
                "address": Address::repeat_byte(1), "topics": topics, "data": "0x0102", "blockHash": hash,
                "blockNumber": "0x10", "blockTimestamp": "0x65", "transactionHash": hash, "transactionIndex": "0x0",
                "logIndex": "0x2", "removed": false, "more": {},
            })
        };
        let mut bare = log(topics(0));
        for field in ["blockTimestamp", "removed"] {
            bare.as_object_mut().unwrap().remove(field);
        }
        let mut pending = log(topics(4));
        (pending["blockHash"], pending["blockNumber"]) = (Value::Null, Value::Null);
        pending["removed"] = true.into();
        for log in [log(topics(3)), bare, pending] {
            let text = log.to_string();
            assert_eq!(read(&text), Ok(serde_json::from_str::<Log>(&text).unwrap()), "{text}");
        }
        assert!(read(&log(topics(5)).to_string()).unwrap_err().contains("four topics"));
        for field in ["address", "topics", "data"] {
            let mut without = log(topics(1));
            without.as_object_mut().unwrap().remove(field);
            assert!(read(&without.to_string()).is_err(), "{field}");
        }
    }
}
