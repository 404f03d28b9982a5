//! A node that misbehaves on purpose. It forwards JSON-RPC to a real node and records calls, and a rule can replace a
//! response.

mod brothers;
pub mod distant;
mod fault;
mod refusal;
mod wire;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use alloy::primitives::{B256, keccak256};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Router, routing::post};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::gate::Gate;

pub use brothers::brothers;
pub use fault::Fault;
pub use refusal::{Form, Refusal};
pub use wire::Wire;

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The number of the request. Calls of a batch share it.
    pub request: u64,
    /// The number of calls in the request.
    pub calls: usize,
    pub method: String,
    pub params: Value,
    /// The `traceparent` header.
    pub traceparent: Option<String>,
}

impl Call {
    /// Returns the first and last block of an `eth_getLogs`.
    pub fn span(&self) -> Option<(u64, u64)> {
        let number = |key: &str| u64::from_str_radix(self.params[0][key].as_str()?.trim_start_matches("0x"), 16).ok();
        (self.method == "eth_getLogs").then(|| number("fromBlock").zip(number("toBlock")))?
    }
}

/// What the proxy does with a call.
#[derive(Debug, Clone)]
pub enum Reply {
    Pass,
    /// Sends these parameters to the real node.
    Instead(Value),
    /// Changes the real node's response to the call.
    Edit(fn(&mut Value)),
    /// Damages the real node's response to the whole request.
    Spoil(Fault),
    /// A JSON-RPC error.
    Error {
        code: i64,
        message: String,
    },
    /// This result instead of the node's.
    Result(Value),
    /// Answers the whole request with this status, and with `Retry-After` in seconds.
    Status(u16, Option<u64>),
    /// What a provider says instead of an answer.
    Refuse(Refusal),
    /// Holds the request until [`Proxy::release`].
    Hold,
}

type Rule = Box<dyn FnMut(&Call) -> Reply + Send>;
type Choice = Box<dyn FnMut(&Value) -> bool + Send>;

/// Holds one call: the `nth` of `method` before it reaches the node, or, if `after`, the next call of any method.
pub fn hold_at(method: &'static str, nth: usize, after: bool) -> impl FnMut(&Call) -> Reply + Send {
    let (mut seen, mut held) = (0, false);
    move |call| {
        let due = after && seen == nth;
        seen += usize::from(call.method == method && seen < nth);
        if !held && (due || (!after && seen == nth)) {
            held = true;
            return Reply::Hold;
        }
        Reply::Pass
    }
}

/// The answers of a node whose chain does not change, for all proxies in front of it.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<Mutex<HashMap<B256, Value>>>);

impl Memory {
    /// A hash, because a call for many wallets is long.
    fn key(call: &Value) -> B256 {
        keccak256(format!("{} {}", call["method"], call["params"]))
    }

    /// The answer to `call` if the node gave it before.
    fn recall(&self, call: &Value) -> Option<Value> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut answer = known.get(&Self::key(call))?.clone();
        answer["id"] = call["id"].clone();
        Some(answer)
    }

    fn keep(&self, call: &Value, answer: &Value) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(Self::key(call), answer.clone());
    }
}

/// Running until dropped.
pub struct Proxy {
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

struct Shared {
    upstream: String,
    http: reqwest::Client,
    rule: Mutex<Rule>,
    forgets: Mutex<Choice>,
    /// Whether receipts lack these logs, too.
    in_receipts: AtomicBool,
    asked: Mutex<Vec<Call>>,
    requests: AtomicU64,
    gate: Gate,
    /// Held while the node answers a call, if it gets one call at a time.
    turn: Option<tokio::sync::Mutex<()>>,
    memory: Option<Memory>,
}

impl Proxy {
    /// # Panics
    /// When no port can be bound.
    pub async fn start(upstream: &str) -> Self {
        Self::start_with(upstream, None, None).await
    }

    /// Like [`start`](Self::start), but forwards one call at a time, also those of a batch.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn one_at_a_time(upstream: &str) -> Self {
        Self::start_with(upstream, Some(tokio::sync::Mutex::default()), None).await
    }

    /// Like [`start`](Self::start), but asks the node once for what is in no proxy's `memory`.
    ///
    /// # Panics
    /// When no port can be bound.
    pub async fn remembering(upstream: &str, memory: &Memory) -> Self {
        Self::start_with(upstream, None, Some(memory.clone())).await
    }

    async fn start_with(upstream: &str, turn: Option<tokio::sync::Mutex<()>>, memory: Option<Memory>) -> Self {
        let shared = Arc::new(Shared {
            upstream: upstream.to_owned(),
            http: reqwest::Client::builder().no_proxy().build().unwrap_or_default(),
            rule: Mutex::new(Box::new(|_| Reply::Pass)),
            forgets: Mutex::new(Box::new(|_| false)),
            in_receipts: AtomicBool::default(),
            asked: Mutex::default(),
            requests: AtomicU64::default(),
            gate: Gate::default(),
            turn,
            memory,
        });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let app = Router::new().route("/", post(answer)).with_state(shared.clone());
        // An incomplete response ends with a connection reset.
        let listener = listener.tap_io(|connection| _ = connection.set_zero_linger());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    /// Sets the rule for all later calls.
    pub fn rule(&self, rule: impl FnMut(&Call) -> Reply + Send + 'static) {
        *self.shared.rule.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(rule);
    }

    /// Removes these logs from all later responses to `eth_getLogs`. Receipts still contain them.
    pub fn forget(&self, forgets: impl FnMut(&Value) -> bool + Send + 'static) {
        *self.shared.forgets.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(forgets);
    }

    /// Like [`forget`](Self::forget), and also removes them from receipts.
    pub fn forget_wholly(&self, forgets: impl FnMut(&Value) -> bool + Send + 'static) {
        self.shared.in_receipts.store(true, Ordering::Relaxed);
        self.forget(forgets);
    }

    /// Releases this many current or future calls.
    pub fn release(&self, calls: usize) {
        self.shared.gate.release(calls);
    }

    /// Completes when a call is held that no earlier `held` reported.
    pub async fn held(&self) {
        self.shared.gate.held().await;
    }

    /// Returns the calls since the last `take`.
    pub fn take(&self) -> Vec<Call> {
        std::mem::take(&mut *self.shared.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The node's answers; `None` if it has none.
async fn forward(shared: &Shared, calls: &[Value]) -> Option<Vec<Value>> {
    let post = async |calls: &[Value]| {
        let sent = shared.http.post(&shared.upstream).json(calls).send().await.ok()?;
        sent.json::<Vec<Value>>().await.ok()
    };
    if let Some(memory) = &shared.memory {
        let mut given: Vec<Value> = calls.iter().filter_map(|call| memory.recall(call)).collect();
        let is_given = |call: &&Value| !given.iter().any(|answer| answer["id"] == call["id"]);
        let rest: Vec<Value> = calls.iter().filter(is_given).cloned().collect();
        if !rest.is_empty() {
            let answers = post(&rest).await?;
            for call in &rest {
                if let Some(answer) = answers.iter().find(|answer| answer["id"] == call["id"]) {
                    memory.keep(call, answer);
                }
            }
            given.extend(answers);
        }
        return Some(given);
    }
    let Some(turn) = &shared.turn else { return post(calls).await };
    let mut given = Vec::new();
    for call in calls {
        let _turn = turn.lock().await;
        given.extend(post(std::slice::from_ref(call)).await?);
    }
    Some(given)
}

async fn answer(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    let (single, requests) = match asked {
        Value::Array(requests) => (false, requests),
        request => (true, vec![request]),
    };
    let number = shared.requests.fetch_add(1, Ordering::Relaxed);
    let mut answered = Vec::new();
    let mut passed = Vec::new();
    let mut spoilt = None;
    let mut edits = Vec::new();
    let (mut refused, mut is_null_error) = (None, false);
    let calls = requests.len();
    for mut request in requests {
        let traceparent = headers.get("traceparent").and_then(|parent| parent.to_str().ok()).map(str::to_owned);
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let call = Call { request: number, calls, method, params: request["params"].clone(), traceparent };
        shared.asked.lock().unwrap_or_else(PoisonError::into_inner).push(call.clone());
        let reply = (shared.rule.lock().unwrap_or_else(PoisonError::into_inner))(&call);
        match reply {
            Reply::Pass => {}
            Reply::Instead(params) => request["params"] = params,
            Reply::Edit(edit) => edits.push((request["id"].clone(), edit)),
            Reply::Spoil(fault) => spoilt = Some(fault),
            Reply::Hold => {
                shared.gate.hold().await;
            }
            Reply::Status(status, after) => {
                let mut headers = HeaderMap::new();
                if let Some(after) = after {
                    headers.insert(header::RETRY_AFTER, HeaderValue::from(after));
                }
                return (StatusCode::from_u16(status).unwrap_or_default(), headers).into_response();
            }
            Reply::Refuse(refusal) => {
                if refusal.form == Form::NullError {
                    is_null_error = true;
                } else if let Some(answer) = refusal.to_call(&request["id"]) {
                    answered.push(answer);
                    refused = Some(refusal);
                    continue;
                } else {
                    return refusal.to_request(&request["id"], single);
                }
            }
            Reply::Result(result) => {
                answered.push(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
                continue;
            }
            Reply::Error { code, message } => {
                answered.push(
                    json!({ "jsonrpc": "2.0", "id": request["id"], "error": { "code": code, "message": message } }),
                );
                continue;
            }
        }
        passed.push(request);
    }
    let mut answers = answered;
    if !passed.is_empty() {
        let Some(mut given) = forward(&shared, &passed).await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        // Only logs are lists of objects with topics.
        let in_receipts = shared.in_receipts.load(Ordering::Relaxed);
        for logs in given.iter_mut().flat_map(|answer| logs_of(answer, in_receipts)) {
            let mut forgets = shared.forgets.lock().unwrap_or_else(PoisonError::into_inner);
            logs.retain(|log| !(log["topics"].is_array() && forgets(log)));
        }
        for (id, edit) in edits {
            given.iter_mut().filter(|answer| answer["id"] == id).for_each(edit);
        }
        answers.extend(given);
    }
    if let Some(fault) = spoilt {
        fault.spoil(&mut answers);
    }
    if is_null_error {
        answers.iter_mut().filter(|answer| answer["error"].is_null()).for_each(|answer| answer["error"] = Value::Null);
    }
    let body = if single { answers.pop().unwrap_or_default() } else { Value::Array(answers) };
    if let Some(fault) = spoilt {
        return fault.carry(body.to_string());
    }
    if let Some(refusal) = refused.filter(|_| passed.is_empty()) {
        return refusal.response(body.to_string());
    }
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn of_receipt(receipt: &mut Value) -> Option<&mut Vec<Value>> {
    receipt.get_mut("logs").and_then(Value::as_array_mut)
}

/// The list of logs that is an answer, or with `in_receipts` those in a receipt or in each of a block's receipts.
fn logs_of(answer: &mut Value, in_receipts: bool) -> Vec<&mut Vec<Value>> {
    let Some(result) = answer.get_mut("result") else { return Vec::new() };
    if !result.is_array() {
        return of_receipt(result).filter(|_| in_receipts).into_iter().collect();
    }
    let is_of_block = result.as_array().is_some_and(|list| list.iter().any(|receipt| receipt["logs"].is_array()));
    let list = result.as_array_mut().into_iter();
    if in_receipts && is_of_block { list.flatten().filter_map(of_receipt).collect() } else { list.collect() }
}
