//! `[store]`: the backend that stores records.

use std::{path::PathBuf, time::Duration};

use assay_domain::{
    Secret,
    settings::{self, Problems},
};
use serde::Deserialize;

/// The backend, and the timeouts of Redis.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub backend: Backend,
    /// File of the embedded backend.
    pub path: PathBuf,
    /// URL of the Redis backend.
    pub url: Option<Secret>,
    /// Prefix of every key in Redis. Deployments with different prefixes can share a server.
    pub prefix: String,
    /// Timeout of a connection to Redis.
    #[serde(rename = "connect_timeout_ms", deserialize_with = "settings::millis")]
    pub connect_timeout: Duration,
    /// Timeout of one response from Redis.
    #[serde(rename = "answer_timeout_ms", deserialize_with = "settings::millis")]
    pub answer_timeout: Duration,
    /// Timeout of one call with all its retries, if the connection to Redis breaks.
    #[serde(rename = "patience_ms", deserialize_with = "settings::millis")]
    pub call_timeout: Duration,
    /// Timeout for counting a request against a rate that hosts share; after it, the host counts the request itself.
    #[serde(rename = "count_timeout_ms", deserialize_with = "settings::millis")]
    pub count_timeout: Duration,
    /// Replicas that must have a write before it counts; 0 for only the master.
    pub wait_replicas: u32,
    /// Timeout of one wait for replicas. The write then counts as unanswered, or waits again within `patience_ms`.
    #[serde(rename = "replica_timeout_ms", deserialize_with = "settings::millis")]
    pub replica_timeout: Duration,
}

impl Store {
    /// The embedded backend at `path`.
    pub fn embedded(path: PathBuf) -> Self {
        Self {
            backend: Backend::Embedded,
            path,
            url: None,
            prefix: "assay:".to_owned(),
            connect_timeout: Duration::from_secs(2),
            answer_timeout: Duration::from_secs(2),
            call_timeout: Duration::from_secs(3),
            count_timeout: Duration::from_millis(250),
            wait_replicas: 0,
            replica_timeout: Duration::from_secs(1),
        }
    }

    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let no_url = self.backend == Backend::Redis && self.url.is_none();
        found.add_if(no_url, "url", "missing; the redis backend needs a URL");
        let bad_prefix = self.prefix.is_empty() || self.prefix.contains(['{', '}']);
        found.add_if(bad_prefix, "prefix", "empty or with a brace; braces tell a cluster what to keep together");
        found.millis("connect_timeout_ms", self.connect_timeout, 1..=60_000);
        found.millis("answer_timeout_ms", self.answer_timeout, 1..=60_000);
        found.millis("patience_ms", self.call_timeout, 1..=60_000);
        found.millis("count_timeout_ms", self.count_timeout, 1..=60_000);
        found.millis("replica_timeout_ms", self.replica_timeout, 1..=60_000);
        found
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    Embedded,
    Redis,
}
