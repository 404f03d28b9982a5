//! A stub of a node, with no chain behind it. It answers JSON-RPC about made-up lending markets of any size, within the
//! limits of a provider, and fast enough not to distort measurements. The path of its URL may be another chain id.

mod market;
mod state;

use std::{collections::HashSet, io::Write, net::SocketAddr, sync::Arc};

use alloy::primitives::{Address, B256, Bytes};
use axum::{
    Router,
    body::Bytes as Body,
    extract::{Path, State},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::Instant};

use crate::proxy::distant::{Bucket, Counted, Limit};

pub use market::{FINALITY, FROM, LOGS, Market, pool, wallet};

/// The chain id, which no shipped configuration has.
pub const CHAIN: u64 = 7_777_777;
/// The address of Multicall3.
pub const MULTICALL: Address = Address::repeat_byte(0xf0);
/// Maximum blocks and logs per `eth_getLogs`.
const RANGE: u64 = 10_000;
const MOST: usize = 10_000;
/// Requests per second, if limited.
const PER_SECOND: u32 = 25;

struct Stub {
    market: Market,
    bucket: Option<Bucket>,
}

/// Serves `market` until the process ends. Calls `ready` with the address.
///
/// # Errors
/// If no port can be bound.
pub async fn serve(market: Market, limited: bool, ready: impl FnOnce(SocketAddr)) -> std::io::Result<()> {
    let limit = Limit { counted: Counted::Requests, per_second: PER_SECOND, retry_after: Some(1) };
    let stub = Arc::new(Stub { market, bucket: limited.then(|| Bucket::new(limit)) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    ready(listener.local_addr()?);
    let routes = Router::new().route("/", post(answer)).route("/{chain}", post(answer));
    axum::serve(listener, routes.with_state(stub)).await
}

#[derive(Deserialize)]
struct Asked {
    id: Value,
    method: String,
    #[serde(default)]
    params: Value,
}

async fn answer(State(stub): State<Arc<Stub>>, chain: Option<Path<u64>>, body: Body) -> Response {
    let chain = chain.map_or(CHAIN, |Path(chain)| chain);
    if let Some(after) = stub.bucket.as_ref().and_then(|bucket| bucket.refusal(1, Instant::now())) {
        let after = after.unwrap_or(1).to_string();
        return (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, after)]).into_response();
    }
    let mut out = Vec::new();
    if let Ok(asked) = serde_json::from_slice::<Asked>(&body) {
        stub.write(chain, &asked, &mut out);
    } else if let Ok(asked) = serde_json::from_slice::<Vec<Asked>>(&body) {
        out.push(b'[');
        for (place, asked) in asked.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            stub.write(chain, asked, &mut out);
        }
        out.push(b']');
    } else {
        return StatusCode::BAD_REQUEST.into_response();
    }
    ([(header::CONTENT_TYPE, "application/json")], out).into_response()
}

impl Stub {
    fn write(&self, chain: u64, asked: &Asked, out: &mut Vec<u8>) {
        let _ = write!(out, "{{\"jsonrpc\":\"2.0\",\"id\":{},", asked.id);
        match self.result(chain, asked, out) {
            Ok(()) => out.push(b'}'),
            Err(message) => {
                let _ = write!(out, "\"error\":{}}}", json!({ "code": -32602, "message": message }));
            }
        }
    }

    fn result(&self, chain: u64, asked: &Asked, out: &mut Vec<u8>) -> Result<(), String> {
        let result = match asked.method.as_str() {
            "eth_getLogs" => return self.logs(&asked.params[0], out),
            "eth_chainId" => json!(format!("{chain:#x}")),
            "eth_blockNumber" => json!(format!("{:#x}", self.market.head())),
            "eth_getBlockByNumber" => self.block(&asked.params[0]),
            "eth_call" => {
                let data = asked.params[0].get("data").or_else(|| asked.params[0].get("input")).cloned();
                let target = serde_json::from_value(asked.params[0]["to"].clone()).unwrap_or_default();
                let data: Bytes = data.and_then(|data| serde_json::from_value(data).ok()).unwrap_or_default();
                json!(state::answer(target, &data).ok_or("execution reverted")?)
            }
            "eth_getBalance" | "eth_getTransactionCount" => json!("0x0"),
            "eth_getCode" => json!("0x"),
            "eth_getStorageAt" => json!(B256::ZERO),
            other => return Err(format!("the stub has no {other}")),
        };
        let _ = write!(out, "\"result\":{result}");
        Ok(())
    }

    fn block(&self, named: &Value) -> Value {
        let head = self.market.head();
        let number = number(named).unwrap_or(head);
        if number > head {
            return Value::Null;
        }
        let (hash, time) = (self.market.hash(number), format!("{:#x}", self.market.time(number)));
        json!({
            "number": format!("{number:#x}"), "hash": hash, "parentHash": self.market.hash(number.saturating_sub(1)),
            "timestamp": time, "logsBloom": self.market.bloom(number), "transactions": [],
        })
    }

    /// Writes the logs of a filter. The error names the exceeded limit.
    fn logs(&self, filter: &Value, out: &mut Vec<u8>) -> Result<(), String> {
        let from = number(&filter["fromBlock"]).unwrap_or(0);
        let to = number(&filter["toBlock"]).unwrap_or(u64::MAX).min(self.market.head());
        if to.saturating_sub(from) >= RANGE {
            return Err(format!("query exceeds max block range {RANGE}"));
        }
        let wanted = Wanted::of(filter);
        let (start, mut found) = (out.len(), 0);
        out.extend_from_slice(b"\"result\":[");
        for block in from..=to {
            for log in self.market.logs(block).iter().flatten().filter(|log| wanted.has(log)) {
                if found > 0 {
                    out.push(b',');
                }
                found += 1;
                if found > MOST {
                    out.truncate(start);
                    return Err(format!("query returned more than {MOST} results"));
                }
                log.write(self.market, block, out);
            }
        }
        out.push(b']');
        Ok(())
    }
}

/// A filter of logs.
struct Wanted {
    addresses: HashSet<Address>,
    topics: Vec<HashSet<B256>>,
}

impl Wanted {
    fn of(filter: &Value) -> Self {
        let topics = filter["topics"].as_array().map(|topics| topics.iter().map(one_or_some).collect());
        Self { addresses: one_or_some(&filter["address"]), topics: topics.unwrap_or_default() }
    }

    fn has(&self, log: &market::Log) -> bool {
        let topics = log.topics();
        let fits = |(place, wanted): (usize, &HashSet<B256>)| {
            wanted.is_empty() || topics.get(place).is_some_and(|topic| wanted.contains(topic))
        };
        (self.addresses.is_empty() || self.addresses.contains(&log.address)) && self.topics.iter().enumerate().all(fits)
    }
}

fn one_or_some<T: serde::de::DeserializeOwned + Eq + std::hash::Hash>(value: &Value) -> HashSet<T> {
    let one = |value: &Value| serde_json::from_value(value.clone()).ok();
    match value {
        Value::Array(list) => list.iter().filter_map(one).collect(),
        value => one(value).into_iter().collect(),
    }
}

fn number(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(events: u64, method: &str, params: Value) -> Value {
        let stub = Stub { market: Market { events, wallets: 10, pools: 1 }, bucket: None };
        let mut out = Vec::new();
        stub.write(CHAIN, &Asked { id: json!(1), method: method.to_owned(), params }, &mut out);
        serde_json::from_slice(&out).unwrap()
    }

    fn logs(filter: Value) -> Vec<alloy::rpc::types::Log> {
        serde_json::from_value(ask(100, "eth_getLogs", json!([filter]))["result"].clone()).unwrap()
    }

    #[test]
    fn logs_are_those_of_a_node_and_of_one_wallet_where_it_is_named() {
        let (from, to) = ("0x0", format!("{:#x}", FROM + 99));
        let all = logs(json!({ "fromBlock": from, "toBlock": to }));
        let own = logs(json!({ "fromBlock": from, "toBlock": to, "address": pool(0),
                "topics": [null, null, [wallet(3).into_word()]] }));
        assert_eq!(all.iter().filter(|log| log.address() == pool(0)).count(), 100);
        assert!(all.iter().all(|log| log.block_timestamp.is_some() && log.block_hash.is_some()));
        assert!(!own.is_empty() && own.iter().all(|log| all.contains(log) && log.topics()[2] == wallet(3).into_word()));
    }

    #[test]
    fn it_has_the_limits_of_a_provider() {
        let refused = |events, blocks: u64| {
            let answer = ask(events, "eth_getLogs", json!([{ "fromBlock": "0x0", "toBlock": format!("{blocks:#x}") }]));
            answer["error"]["message"].as_str().map(str::to_owned)
        };
        assert!(refused(1 << 20, RANGE).is_some_and(|message| message.contains("max block range 10000")));
        assert!(refused(1 << 20, RANGE - 1).is_some_and(|message| message.contains("more than 10000 results")));
        assert_eq!(refused(10, RANGE - 1), None);
    }
}
