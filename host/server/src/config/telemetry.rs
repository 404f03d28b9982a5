//! `[telemetry]`: how the log is written, and where traces go.

use std::collections::BTreeMap;

use serde::Deserialize;

use assay_domain::Secret;

/// What an operator sees, as far as it is chosen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// What is logged, in the syntax of `RUST_LOG`, which goes before it.
    pub log: String,
    pub log_format: LogFormat,
    /// Nothing is traced where absent.
    pub traces: Option<TracesConfig>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    Auto,
    Text,
    Json,
}

/// A collector that speaks OTLP over HTTP, in protobuf.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TracesConfig {
    /// The whole URL, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: Secret,
    /// Share of the requests that are traced, 0 to 1, where the caller's `traceparent` does not say.
    #[serde(default = "all")]
    pub sample: f64,
    /// Sent with every batch, such as a key of the collector.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
}

fn all() -> f64 {
    1.0
}
