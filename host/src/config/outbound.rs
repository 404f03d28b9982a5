//! `[outbound]`: what may be fetched from addresses that strangers write, such as the gateways of names.

use serde::Deserialize;

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
