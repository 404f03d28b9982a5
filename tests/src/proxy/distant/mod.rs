//! A simulated remote endpoint: a real node with a delay, other block heights, limits, and a traffic meter.

mod heights;
mod limit;
mod meter;
mod node;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::ListenerExt;
use axum::{Router, routing::post};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use heights::{Heights, Place};
pub(crate) use limit::Bucket;
pub use limit::{Counted, Limit};
pub use meter::{Meter, Traffic};
pub use node::Node;

/// The differences between the endpoint and its node.
#[derive(Debug, Clone, Copy)]
pub struct Manner {
    /// Time added to each request.
    pub delay: Duration,
    /// Block n of the node is shown as block n * `spread`.
    pub spread: u64,
    /// The chain id; the node's own if absent.
    pub chain: Option<u64>,
    pub limit: Option<Limit>,
    /// Number of newest blocks whose state is available; all if absent.
    pub kept: Option<u64>,
}

impl Manner {
    /// Like the node, at other heights.
    pub fn spread(spread: u64) -> Self {
        Self { delay: Duration::ZERO, spread, chain: None, limit: None, kept: None }
    }
}

/// Running until dropped.
pub struct Distant {
    pub url: String,
    server: JoinHandle<()>,
}

struct Shared {
    node: Node,
    manner: Manner,
    heights: Heights,
    bucket: Option<Bucket>,
    meter: Meter,
}

impl Distant {
    /// Starts an endpoint in front of `node`. Several endpoints can share one `meter`.
    ///
    /// # Panics
    /// If no port can be bound.
    pub async fn start(node: Node, manner: Manner, meter: &Meter) -> Self {
        let shared = Arc::new(Shared {
            node,
            manner,
            heights: Heights(manner.spread),
            bucket: manner.limit.map(Bucket::new),
            meter: meter.clone(),
        });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}")).unwrap_or_default();
        let app = Router::new().route("/", post(answer)).with_state(shared);
        let listener = listener.tap_io(|connection| _ = connection.set_nodelay(true));
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, server }
    }
}

impl Drop for Distant {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let Ok(asked) = serde_json::from_slice::<Value>(&body) else { return StatusCode::BAD_REQUEST.into_response() };
    let (single, requests) = match asked {
        Value::Array(requests) => (false, requests),
        request => (true, vec![request]),
    };
    let mut passing = shared.meter.enter(requests.len(), body.len());
    let refused = shared.bucket.as_ref().and_then(|bucket| bucket.refusal(requests.len(), Instant::now()));
    sleep(shared.manner.delay).await;
    if let Some(after) = refused {
        passing.refused = true;
        let after = after.map(|after| (header::RETRY_AFTER, HeaderValue::from(after)));
        return (StatusCode::TOO_MANY_REQUESTS, HeaderMap::from_iter(after)).into_response();
    }
    let Some(mut answers) = shared.answers(requests).await else { return StatusCode::BAD_GATEWAY.into_response() };
    let body = if single { answers.pop().unwrap_or_default() } else { Value::Array(answers) }.to_string();
    passing.sent = body.len();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

impl Shared {
    /// Returns the answers to `requests` in any order, or `None` if the node does not answer.
    async fn answers(&self, requests: Vec<Value>) -> Option<Vec<Value>> {
        let oldest = match self.manner.kept {
            Some(kept) => Some(self.head().await?.saturating_sub(kept)),
            None => None,
        };
        let (mut answers, mut passed, mut places) = (Vec::new(), Vec::new(), Vec::new());
        for mut request in requests {
            let id = request["id"].clone();
            let place = self.heights.take(&mut request);
            match self.own(&request, place, oldest) {
                Some(mut own) => {
                    own["jsonrpc"] = json!("2.0");
                    own["id"] = id;
                    answers.push(own);
                }
                None => {
                    places.push((id, place));
                    passed.push(request);
                }
            }
        }
        if !passed.is_empty() {
            let mut given = self.node.ask(passed).await?;
            for answer in &mut given {
                let place = places.iter().find(|(id, _)| *id == answer["id"]).and_then(|(_, place)| *place);
                self.heights.show(place, answer);
            }
            answers.extend(given);
        }
        Some(answers)
    }

    /// Returns an answer that does not come from the node. `oldest` is the first block whose state is available.
    fn own(&self, request: &Value, place: Option<Place>, oldest: Option<u64>) -> Option<Value> {
        let id = self.manner.chain;
        match (request["method"].as_str().unwrap_or_default(), place) {
            ("eth_chainId", _) => id.map(|id| json!({ "result": format!("{id:#x}") })),
            ("net_version", _) => id.map(|id| json!({ "result": id.to_string() })),
            (_, Some(Place::Nowhere)) => Some(json!({ "result": [] })),
            (_, Some(Place::State(block))) if oldest.is_some_and(|oldest| block < oldest) => {
                let message = format!("missing trie node {block:064x} (path ) state is not available");
                Some(json!({ "error": { "code": -32000, "message": message } }))
            }
            _ => None,
        }
    }

    /// Returns the number of the newest block, as shown to clients.
    async fn head(&self) -> Option<u64> {
        let asked = json!({ "jsonrpc": "2.0", "id": 0, "method": "eth_blockNumber", "params": [] });
        let answers = self.node.ask(vec![asked]).await?;
        heights::number(&answers.first()?["result"]).map(|number| number * self.manner.spread)
    }
}
