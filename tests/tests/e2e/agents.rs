//! Agents through the whole server: stubs of the registries on a node with the chain id of Base, and documents on local
//! servers.

use assay_tests::{
    agents::{self, Agents},
    lenders::Small,
    service::{Caller, plugins, sandbox_config},
    until,
};
use futures::FutureExt;
use serde_json::{Value, json};

mod following;
mod hostile;
mod listing;
mod refusals;
mod reputation;

const BASE: u64 = 8453;
const FINALITY: u64 = 2;
/// An interval so short that a test need not wait.
pub(super) const OFTEN: u64 = 100;
/// A server where nothing listens.
const NOBODY: &str = "http://127.0.0.1:9/";
const NOT_READ: &str = "Failed to read from the Identity Registry contract";

pub(super) struct World {
    pub chain: Small,
    agents: Agents,
}

impl World {
    pub async fn start() -> Self {
        let mut chain = Small::start(BASE).await.expect("the chain starts");
        let agents = agents::deploy(&mut chain).await.expect("the registries are deployed");
        Self { chain, agents }
    }

    pub async fn register(&mut self, owner: &str, uris: &[String]) {
        self.agents.register(&mut self.chain, owner, uris).await.expect("agents are registered");
    }

    /// Mines until all present events are final.
    pub async fn settle(&mut self) {
        for _ in 0..FINALITY {
            self.chain.mine().await.expect("a block");
        }
    }

    /// A configuration with the chain at `rpc`.
    pub fn config(&self, rpc: &str, refresh_ms: u64, more: &str) -> String {
        let chain = format!(
            "[[chains]]\nid = {BASE}\nname = \"Base\"\nrpc = [\"{rpc}\"]\nfinality = {FINALITY}\nmax_head_age = \
             0\nmulticall = \"none\"\nsequencer = \"none\"\n\
             native = {{ symbol = \"ETH\" }}\ntokens = []\nmarkets = []\n"
        );
        let agents = self.agents.toml(BASE, refresh_ms);
        format!("{}{chain}{agents}\n[reading.rpc]\nretries = 0\n{more}", sandbox_config(&plugins()))
    }
}

pub(super) fn inline(name: &str, description: &str) -> String {
    format!("data:application/json,{}", json!({ "name": name, "description": description }))
}

fn ids(body: &Value) -> Vec<u64> {
    body["agents"].as_array().expect("a list").iter().map(|agent| agent["agent_id"].as_u64().expect("an id")).collect()
}

/// Requests `path` until the answer is as expected: the index follows the chain with a delay.
#[track_caller]
pub(super) fn until(api: &Caller, path: &str, holds: impl Fn(&Value) -> bool) -> impl Future<Output = Value> {
    api.until(path, move |answer| answer.status == 200 && holds(&answer.json())).map(|answer| answer.json())
}

/// A value of the metrics; 0 if it is absent.
pub(super) async fn metric(api: &Caller, line: &str) -> f64 {
    let text = api.get("/metrics").await.text;
    text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok()).unwrap_or(0.0)
}

/// Completes once a value of the metrics is at least `least`.
#[track_caller]
pub(super) fn metric_reaches(api: &Caller, line: &str, least: f64) -> impl Future<Output = f64> {
    until::until(async move || metric(api, line).await, move |value| *value >= least)
}
