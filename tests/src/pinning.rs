//! A mock of a pinning service. It has the IPFS Pinning Service API over HTTP to list and add pins, and stores them in
//! memory. A pin goes from queued to pinning to pinned, one step per read. A test can make it fail, refuse the token,
//! respond with garbage, or hold requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::gate::Gate;

/// The token of the service.
pub const TOKEN: &str = "pinning-token-of-the-mock";

/// The behaviour of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    #[default]
    Well,
    /// Every pin fails.
    Failing,
    /// Refuses every token.
    Refusing,
    /// Responses are not JSON.
    Garbled,
    /// Holds requests until [`Pinning::release`].
    Stalling,
}

/// Running until dropped.
pub struct Pinning {
    /// Root of the API.
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Kept {
    mood: Mood,
    /// Pin requests in order: CID and status.
    pins: Vec<(String, &'static str)>,
    /// The statuses that reads of pins returned, in order.
    seen: Vec<&'static str>,
}

struct Shared {
    kept: Mutex<Kept>,
    gate: Gate,
}

impl Shared {
    fn kept<T>(&self, with: impl FnOnce(&mut Kept) -> T) -> T {
        with(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the wrong response of a misbehaviour, if any.
    async fn spoilt(&self, headers: &HeaderMap) -> Option<Response> {
        let mood = self.kept(|kept| kept.mood);
        if mood == Mood::Stalling {
            self.gate.hold().await;
        }
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
        if mood == Mood::Refusing || token != Some(TOKEN) {
            let error =
                json!({ "error": { "reason": "UNAUTHORIZED", "details": "Access token is missing or invalid" } });
            return Some((StatusCode::UNAUTHORIZED, Json(error)).into_response());
        }
        (mood == Mood::Garbled).then(|| "<html>it works</html>".into_response())
    }
}

impl Pinning {
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let shared = Arc::new(Shared { kept: Mutex::default(), gate: Gate::default() });
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}/psa")).unwrap_or_default();
        let app = Router::new().route("/psa/pins", routing::get(list).post(add)).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    pub fn be(&self, mood: Mood) {
        self.shared.kept(|kept| kept.mood = mood);
    }

    /// Returns the number of pin requests for this document.
    pub fn asked(&self, cid: &str) -> usize {
        self.shared.kept(|kept| kept.pins.iter().filter(|(pinned, _)| pinned == cid).count())
    }

    /// Returns the statuses that reads of pins returned since the last `take`.
    pub fn take(&self) -> Vec<&'static str> {
        self.shared.kept(|kept| std::mem::take(&mut kept.seen))
    }

    /// Completes when a request is held that no earlier call has reported.
    pub async fn held(&self) {
        self.shared.gate.held().await;
    }

    /// Releases `requests` present or future requests.
    pub fn release(&self, requests: usize) {
        self.shared.gate.release(requests);
    }
}

impl Drop for Pinning {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn status_of(number: usize, cid: &str, status: &str) -> Value {
    json!({
        "requestid": format!("request-{number}"), "status": status, "created": "2026-01-15T10:30:00Z",
        "pin": { "cid": cid }, "delegates": ["/ip4/127.0.0.1/tcp/4001/p2p/mock"], "info": {}
    })
}

/// Lists the pins of the requested CIDs and statuses, latest first. Without `status`, the API lists pinned ones.
async fn list(
    State(shared): State<Arc<Shared>>,
    Query(asked): Query<BTreeMap<String, String>>,
    headers: HeaderMap,
) -> Response {
    if let Some(answer) = shared.spoilt(&headers).await {
        return answer;
    }
    let wanted = asked.get("status").map_or("pinned", String::as_str).to_owned();
    let cids = asked.get("cid").cloned().unwrap_or_default();
    let results = shared.kept(|kept| {
        let mut results = Vec::new();
        for (number, (cid, status)) in kept.pins.iter_mut().enumerate().rev() {
            if !cids.split(',').any(|asked| asked == cid) {
                continue;
            }
            *status = match *status {
                "queued" => "pinning",
                "pinning" => "pinned",
                status => status,
            };
            if wanted.split(',').any(|wanted| wanted == *status) {
                kept.seen.push(status);
                results.push(status_of(number, cid, status));
            }
        }
        results
    });
    Json(json!({ "count": results.len(), "results": results })).into_response()
}

async fn add(State(shared): State<Arc<Shared>>, headers: HeaderMap, Json(pin): Json<Value>) -> Response {
    if let Some(answer) = shared.spoilt(&headers).await {
        return answer;
    }
    let Some(cid) = pin["cid"].as_str() else {
        let error = json!({ "error": { "reason": "BAD_REQUEST", "details": "no cid" } });
        return (StatusCode::BAD_REQUEST, Json(error)).into_response();
    };
    let (number, status) = shared.kept(|kept| {
        let status = if kept.mood == Mood::Failing { "failed" } else { "queued" };
        kept.pins.push((cid.to_owned(), status));
        kept.seen.push(status);
        (kept.pins.len() - 1, status)
    });
    (StatusCode::ACCEPTED, Json(status_of(number, cid, status))).into_response()
}
