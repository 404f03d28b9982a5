//! `[store]`: where records are kept.

use std::path::PathBuf;

use serde::Deserialize;

use assay_domain::Secret;

/// The backend, chosen once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub backend: Backend,
    /// File of the embedded backend.
    pub path: PathBuf,
    /// URL of the Redis backend.
    pub url: Option<Secret>,
    /// What every key in Redis begins with: deployments with different ones share a server.
    pub prefix: String,
    /// Longest wait for a connection to Redis.
    pub connect_timeout_ms: u64,
    /// Longest wait for an answer of Redis.
    pub answer_timeout_ms: u64,
    /// Longest that a call waits, with all its tries, where the connection to Redis breaks.
    pub patience_ms: u64,
    /// Longest that a request waits to be counted against a rate that hosts share; then its host counts by itself.
    pub count_timeout_ms: u64,
}

impl Store {
    /// The embedded backend at `path`, with the bounds that the server ships with.
    pub fn embedded(path: PathBuf) -> Self {
        Self {
            backend: Backend::Embedded,
            path,
            url: None,
            prefix: "assay:".to_owned(),
            connect_timeout_ms: 2_000,
            answer_timeout_ms: 2_000,
            patience_ms: 3_000,
            count_timeout_ms: 250,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    Embedded,
    Redis,
}
