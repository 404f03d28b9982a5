//! `[reading.rpc]` and `[outbound]`: the limits of calls to endpoints, and of fetches from third-party URLs.

use std::time::Duration;

use assay_domain::{
    Address, ChainId, Secret,
    settings::{self, Problems},
};
use serde::Deserialize;
use url::Url;

/// The endpoints of a chain.
#[derive(Debug, Clone)]
pub struct Endpoints {
    pub chain: ChainId,
    /// JSON-RPC endpoints, best first; when one fails, the next is used.
    pub rpc: Vec<Secret>,
    /// Multicall3 contract; without it, calls are batched as JSON-RPC.
    pub multicall: Option<Address>,
    /// Maximum age of a head by the machine's clock; `None` if heads are not compared.
    pub max_head_age: Option<Duration>,
}

/// Limits of log queries.
#[derive(Debug, Clone, Copy)]
pub struct LogLimits {
    /// Maximum blocks per query, after an endpoint has refused a range without naming its limit.
    pub range: u64,
    /// Ranges that are read concurrently.
    pub concurrency: usize,
}

/// Limits of calls to one endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcLimits {
    /// Timeout of one call.
    #[serde(rename = "timeout_ms", deserialize_with = "settings::millis")]
    pub timeout: Duration,
    /// Maximum concurrent calls.
    pub concurrency: usize,
    /// Maximum calls started per second; 0 for no limit.
    pub per_second: u32,
    /// Retries after a transient error, with backoff.
    pub retries: u32,
    /// Whether calls carry the `traceparent` of a traced request.
    pub traceparent: bool,
}

impl RpcLimits {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.millis("timeout_ms", self.timeout, 1..);
        found.number("concurrency", self.concurrency, 1..=10_000);
        found
    }
}

/// Limits of fetches from third-party URLs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outbound {
    /// `host:port` of servers that may have a private address and need no TLS: gateways inside the operator's network,
    /// and tests.
    pub allow: Vec<String>,
    /// Timeout of one fetch with all its redirects.
    #[serde(rename = "timeout_ms", deserialize_with = "settings::millis")]
    pub timeout: Duration,
    /// Maximum size of a response body, in bytes.
    pub max_bytes: usize,
    /// Maximum concurrent fetches.
    pub concurrency: usize,
}

impl Outbound {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        for (i, server) in self.allow.iter().enumerate() {
            let wrong = !is_host_and_port(server);
            found.add_if(wrong, format!("allow[{i}]"), "not host:port, such as gateway.internal:8080");
        }
        found.millis("timeout_ms", self.timeout, 1..=20_000);
        found.number("max_bytes", self.max_bytes, 1..=16 << 20);
        found.number("concurrency", self.concurrency, 1..=1_000);
        found
    }
}

fn is_host_and_port(server: &str) -> bool {
    let has_port = server.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let url = Url::parse(&format!("http://{server}/"));
    has_port && url.is_ok_and(|url| url.path() == "/" && url.username().is_empty())
}
