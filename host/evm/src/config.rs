//! `[reading.rpc]` and `[outbound]`: limits of requests to endpoints, and of fetches from URLs that third parties
//! publish.

use assay_domain::{Address, ChainId, Secret};
use serde::Deserialize;

/// The endpoints of a chain.
#[derive(Debug, Clone)]
pub struct Endpoints {
    pub chain: ChainId,
    /// JSON-RPC endpoints in order of preference; the next is used when one fails.
    pub rpc: Vec<Secret>,
    /// Multicall3 contract; without it, calls are batched as JSON-RPC.
    pub multicall: Option<Address>,
}

/// Limits of log queries.
#[derive(Debug, Clone, Copy)]
pub struct LogLimits {
    /// Widest span of one query, in blocks, after an endpoint refused a range without a limit in its message.
    pub range: u64,
    /// Ranges read concurrently.
    pub concurrency: usize,
}

/// Limits of requests to one endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcLimits {
    /// Longest time one call may take, in milliseconds.
    pub timeout_ms: u64,
    /// Concurrent calls.
    pub concurrency: usize,
    /// Calls started per second; 0 for no limit.
    pub per_second: u32,
    /// Retries of a transient fault, with backoff.
    pub retries: u32,
    /// Requests to endpoints carry the `traceparent` of a traced request.
    pub traceparent: bool,
}

/// Limits of a fetch from a URL that a third party publishes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outbound {
    /// `host:port` of hosts that may be fetched from at private addresses and without encryption: gateways inside the
    /// operator's network, and tests.
    pub allow: Vec<String>,
    /// Longest time a request may take with all its redirects, in milliseconds.
    pub timeout_ms: u64,
    /// Largest answer read, in bytes.
    pub max_bytes: usize,
    /// Concurrent fetches.
    pub concurrency: usize,
}
