//! The node behind the endpoints.

use std::time::Duration;

use moka::future::Cache;
use reqwest::header::CONTENT_TYPE;
use serde_json::Value;

/// Words for blocks that change.
const MOVING: [&str; 5] = ["eth_blockNumber", "latest", "pending", "finalized", "safe"];
/// How long answers are cached. Later, a block that was missing may exist.
const KEPT: Duration = Duration::from_secs(1);

/// A node, and a cache of its answers about fixed blocks. Endpoints that simulate several chains share one node, which
/// answers a request common to all of them once: outside of a benchmark, each chain has its own machines.
#[derive(Clone)]
pub struct Node {
    url: String,
    http: reqwest::Client,
    answered: Cache<String, Vec<Value>>,
}

impl Node {
    pub fn new(url: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap_or_default();
        Self { url: url.to_owned(), http, answered: Cache::builder().time_to_live(KEPT).build() }
    }

    /// Returns the answers to `requests` in any order, or `None` if the node does not answer.
    pub(super) async fn ask(&self, mut requests: Vec<Value>) -> Option<Vec<Value>> {
        // Use positions as ids, to make equal packets the same text.
        let ids: Vec<_> = requests
            .iter_mut()
            .enumerate()
            .map(|(place, request)| std::mem::replace(&mut request["id"], place.into()))
            .collect();
        let packet = Value::Array(requests).to_string();
        let mut answers = if MOVING.iter().any(|word| packet.contains(word)) {
            self.post(packet).await?
        } else {
            self.answered.optionally_get_with(packet.clone(), self.post(packet)).await?
        };
        for answer in &mut answers {
            let place = answer["id"].as_u64().and_then(|place| usize::try_from(place).ok());
            answer["id"] = ids.get(place?)?.clone();
        }
        Some(answers)
    }

    async fn post(&self, packet: String) -> Option<Vec<Value>> {
        let request = self.http.post(&self.url).header(CONTENT_TYPE, "application/json").body(packet);
        request.send().await.ok()?.json().await.ok()
    }
}
