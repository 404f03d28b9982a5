//! A mock of a block explorer, with the module/action API of Etherscan v2 and of a Blockscout instance over HTTP. It
//! indexes a real node and lists its data. Responses are wrong or contain made-up rows only if a test requests that.

mod index;
mod logs;
mod row;

use std::sync::{Arc, Mutex, PoisonError};

use alloy::primitives::{Address, B256, U256};
use axum::extract::{Query, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing::get};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::devnet::{Error, Rpc};
use index::Index;
use row::Row;

/// The only valid key.
pub const KEY: &str = "a-key-of-the-explorer";
/// Maximum rows per response, as on a free plan.
const MOST: usize = 1_000;
/// Maximum rows that pages can reach.
const WINDOW: usize = 10_000;

/// The kind of API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// One address for many chains, with `chainid` and a key.
    Etherscan,
    /// An instance for one chain. It also lists non-fungible transfers with the fungible ones, and returns log indexes.
    Blockscout,
}

/// One call.
#[derive(Debug, Clone, Deserialize, Default)]
#[serde(default)]
pub struct Asked {
    pub action: String,
    pub address: String,
    pub startblock: u64,
    pub endblock: u64,
    pub page: usize,
    pub offset: usize,
    #[serde(rename = "fromBlock")]
    pub from_block: u64,
    #[serde(rename = "toBlock")]
    pub to_block: u64,
    pub topic1: Option<String>,
    pub topic2: Option<String>,
    pub topic3: Option<String>,
    chainid: Option<u64>,
    apikey: Option<String>,
    module: String,
    sort: String,
}

/// The response to a call.
#[derive(Debug, Clone)]
pub enum Reply {
    Right,
    /// Status 200 with "NOTOK" and this text as the result.
    No(&'static str),
    /// This status with an HTML page.
    Status(u16),
    /// Never responds.
    Silence,
    /// Half of the correct response.
    Half,
    /// JSON numbers instead of strings.
    Numbers,
    /// The first and the last row twice.
    Doubled,
    /// Includes a row of another address.
    Foreign,
    /// Newest row first.
    Backwards,
    /// A row with an invalid block number.
    Damaged,
    /// At most this many rows per request.
    Capped(usize),
    /// No rows, like an indexer that lags behind.
    Behind,
    /// No logs of this many of the newest blocks.
    Lags(u64),
    /// No logs of transactions whose hash has this prefix.
    Lacks(&'static str),
}

type Rule = Box<dyn FnMut(&Asked) -> Reply + Send>;

/// Running until dropped.
pub struct Explorer {
    /// The value of `chains.explorer`.
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    flavour: Flavour,
    chain: u64,
    rpc: Rpc,
    index: Arc<tokio::sync::Mutex<Index>>,
    made_up: Mutex<Vec<Row>>,
    rule: Mutex<Rule>,
    asked: Mutex<Vec<Asked>>,
}

impl Explorer {
    /// # Panics
    /// If the node cannot be read, or no port can be bound.
    pub async fn start(flavour: Flavour, chain: u64, rpc: Rpc) -> Self {
        let index = Index::of(&rpc);
        index.lock().await.catch_up(&rpc).await.unwrap_or_else(|e| panic!("the node cannot be indexed: {e}"));
        let shared = Arc::new(Shared {
            flavour,
            chain,
            rpc,
            index,
            made_up: Mutex::default(),
            rule: Mutex::new(Box::new(|_| Reply::Right)),
            asked: Mutex::default(),
        });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let at = listener.local_addr().map(|at| at.to_string()).unwrap_or_default();
        let url = match flavour {
            Flavour::Etherscan => format!("http://{at}/v2/api?apikey={KEY}"),
            Flavour::Blockscout => format!("http://{at}/api"),
        };
        let app = Router::new().route("/v2/api", get(answer)).route("/api", get(answer)).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    /// Sets the rule for all later calls.
    pub fn rule(&self, rule: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// Returns the calls since the last `take`.
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lists transactions that are not on the chain: one for each block and time in `blocks`, from `from` to a
    /// different stranger each.
    pub fn make_up(&self, from: Address, blocks: impl IntoIterator<Item = (u64, u64)>) {
        let row = |(i, (block, time)): (usize, (u64, u64))| {
            let n: U256 = U256::from(i + 1);
            let (hash, to) = (B256::from(n), Address::from_word(B256::from(n << 64_usize)));
            Row::of_account(json!({
                "blockNumber": block.to_string(), "timeStamp": time.to_string(), "hash": hash, "from": from, "to": to,
                "value": "0", "transactionIndex": "0", "isError": "0", "contractAddress": "",
            }))
        };
        *self.shared.made_up.lock().unwrap_or_else(PoisonError::into_inner) =
            blocks.into_iter().enumerate().map(row).collect();
    }
}

impl Drop for Explorer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    /// Returns all rows of the list for the address, oldest first.
    async fn listed(&self, asked: &Asked) -> Result<Vec<Value>, Error> {
        let mut index = self.index.lock().await;
        index.catch_up(&self.rpc).await?;
        let made_up = self.made_up.lock().unwrap_or_else(PoisonError::into_inner);
        let also: &[Row] = if asked.action == "txlist" { &made_up } else { &[] };
        let repeats = self.flavour == Flavour::Blockscout && asked.action == "tokentx";
        let lists: &[&str] = if repeats { &["tokentx", "tokennfttx"] } else { &[asked.action.as_str()] };
        let (blocks, address) = (asked.startblock..=asked.endblock, asked.address.to_ascii_lowercase());
        let all = lists.iter().flat_map(|list| index.rows(list)).chain(also);
        let mut rows: Vec<&Row> = all.filter(|row| blocks.contains(&row.block) && row.names(&address)).collect();
        rows.sort_by_key(|row| (row.block, row.transaction));
        let mut rows: Vec<Value> = rows.into_iter().map(|row| row.shown.clone()).collect();
        if self.flavour == Flavour::Etherscan {
            rows.iter_mut().filter_map(Value::as_object_mut).for_each(|row| _ = row.remove("logIndex"));
        }
        Ok(rows)
    }
}

async fn answer(State(shared): State<Arc<Shared>>, Query(asked): Query<Asked>) -> Response {
    shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(asked.clone());
    let reply = (shared.rule.lock().unwrap_or_else(PoisonError::into_inner))(&asked);
    let no = |text: &str| json_text(json!({ "status": "0", "message": "NOTOK", "result": text }).to_string());
    match reply {
        Reply::No(text) => return no(text),
        Reply::Status(status) => {
            let page = "<html><body><h1>Something went wrong</h1></body></html>";
            return (StatusCode::from_u16(status).unwrap_or_default(), [(header::CONTENT_TYPE, "text/html")], page)
                .into_response();
        }
        Reply::Silence => std::future::pending().await,
        _ => {}
    }
    if shared.flavour == Flavour::Etherscan {
        if asked.chainid != Some(shared.chain) {
            return no(
                "Missing or unsupported chainid parameter (required for v2 api), please see the list of supported \
                 chainids",
            );
        }
        if asked.apikey.as_deref() != Some(KEY) {
            return no("Invalid API Key");
        }
    }
    if (asked.module.as_str(), asked.action.as_str()) == ("logs", "getLogs") {
        let mut index = shared.index.lock().await;
        if index.catch_up(&shared.rpc).await.is_err() {
            return StatusCode::BAD_GATEWAY.into_response();
        }
        let page = logs::page(index.rows("getLogs"), &asked, shared.flavour, &reply);
        return listed(page, "No records found", &reply);
    }
    if asked.module != "account" || asked.sort != "asc" {
        return no("Error! Missing Or invalid Module name");
    }
    if asked.page * asked.offset > WINDOW {
        return no("Result window is too large, PageNo x Offset size must be less than or equal to 10000");
    }
    let Ok(rows) = shared.listed(&asked).await else { return StatusCode::BAD_GATEWAY.into_response() };
    let cap = if let Reply::Capped(cap) = reply { cap } else { MOST };
    let skipped = asked.page.saturating_sub(1) * asked.offset;
    let mut page: Vec<Value> = rows.into_iter().skip(skipped).take(asked.offset.min(cap)).collect();
    spoil(&mut page, &reply);
    let none = match asked.action.as_str() {
        "txlist" => "No transactions found",
        _ if shared.flavour == Flavour::Blockscout => "No token transfers found",
        _ => "No transactions found",
    };
    listed(page, none, &reply)
}

/// The response with a page, or with the message for an empty one.
fn listed(page: Vec<Value>, none: &str, reply: &Reply) -> Response {
    let (status, message) = if page.is_empty() { ("0", none) } else { ("1", "OK") };
    let mut text = json!({ "status": status, "message": message, "result": page }).to_string();
    if matches!(reply, Reply::Half) {
        text.truncate(text.len() / 2);
    }
    json_text(text)
}

/// Applies the misbehaviour `reply` to a page.
fn spoil(page: &mut Vec<Value>, reply: &Reply) {
    match reply {
        Reply::Numbers => {
            for row in page.iter_mut().filter_map(Value::as_object_mut) {
                for key in ["blockNumber", "timeStamp", "nonce", "transactionIndex"] {
                    let number = row.get(key).and_then(|text| text.as_str()?.parse::<u64>().ok());
                    number.map(|number| row.insert(key.to_owned(), number.into()));
                }
            }
        }
        Reply::Doubled => {
            let (first, last) = (page.first().cloned(), page.last().cloned());
            page.splice(0..0, first);
            page.extend(last);
        }
        Reply::Foreign => {
            if let Some(mut foreign) = page.first().cloned() {
                (foreign["from"], foreign["to"]) =
                    (json!(Address::repeat_byte(0xf0)), json!(Address::repeat_byte(0xf1)));
                foreign["hash"] = json!(B256::repeat_byte(0xf2));
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

fn json_text(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}
