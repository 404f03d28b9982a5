//! `[telemetry]`: the log, and the collector of traces.

use std::collections::BTreeMap;

use assay_domain::{
    Secret,
    settings::{Problems, is_web},
};
use http::{HeaderName, HeaderValue};
use serde::Deserialize;

/// Level and format of the log, and the collector of traces.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Telemetry {
    /// Filter of the log, in the syntax of `RUST_LOG`. That environment variable replaces it.
    pub log: String,
    pub log_format: LogFormat,
    /// Without it, nothing is traced.
    pub traces: Option<TracesConfig>,
}

impl Telemetry {
    pub fn problems(&self) -> Problems {
        let mut found = Problems::default();
        if let Some(traces) = &self.traces {
            found.section("traces", traces.problems());
        }
        found
    }
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
    /// Share of requests that are traced, 0 to 1, where the caller's `traceparent` does not decide.
    #[serde(default = "all")]
    pub sample: f64,
    /// Headers of every batch, such as a key of the collector.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
}

impl TracesConfig {
    fn problems(&self) -> Problems {
        let mut found = Problems::default();
        let what = "not an http or https URL, such as http://127.0.0.1:4318/v1/traces";
        found.add_if(!is_web(&self.endpoint), "endpoint", what);
        found.add_if(!(0.0..=1.0).contains(&self.sample), "sample", "not a share between 0 and 1");
        for (name, value) in &self.headers {
            let wrong = HeaderName::try_from(name).is_err() || HeaderValue::try_from(value.expose()).is_err();
            found.add_if(wrong, format!("headers.{name}"), "not a header that can be sent");
        }
        found
    }
}

fn all() -> f64 {
    1.0
}
