//! `[reading.rpc]` and `[outbound]`: how endpoints are asked, and what may be fetched from addresses that strangers write.

use assay_domain::{Address, ChainId, Secret};
use serde::Deserialize;

/// Where a chain is read.
#[derive(Debug, Clone)]
pub struct Endpoints {
    pub chain: ChainId,
    /// JSON-RPC endpoints, best first; the next is asked when one fails.
    pub rpc: Vec<Secret>,
    /// Multicall3 contract; calls are batched as JSON-RPC where absent.
    pub multicall: Option<Address>,
}

/// How logs are asked for.
#[derive(Debug, Clone, Copy)]
pub struct LogLimits {
    /// Widest span of one query, in blocks, after an endpoint has refused a range without naming its limit.
    pub range: u64,
    /// Ranges read at once.
    pub concurrency: usize,
}

/// Bounds on calls to one endpoint.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RpcLimits {
    /// Longest time one call may take, in milliseconds.
    pub timeout_ms: u64,
    /// Calls in flight at once.
    pub concurrency: usize,
    /// Calls started per second; 0 for no bound.
    pub per_second: u32,
    /// Retries of a transient fault, with backoff.
    pub retries: u32,
    /// Endpoints are told the trace of a request, where it is traced.
    pub traceparent: bool,
}

/// Bounds of such a request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outbound {
    /// `host:port` of those that may be fetched from wherever they are and without encryption: gateways inside a
    /// network of one's own, and tests.
    pub allow: Vec<String>,
    /// Longest time a request may take with all its redirects, in milliseconds.
    pub timeout_ms: u64,
    /// Largest answer read, in bytes.
    pub max_bytes: usize,
    /// Such requests at once.
    pub concurrency: usize,
}
