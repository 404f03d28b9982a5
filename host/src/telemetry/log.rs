//! The log: on standard error, so that what a command prints on standard output stays clean. And the traces beside it, for both are
//! what the one subscriber of this process does.

use std::{
    env,
    io::{IsTerminal, stderr},
};

use tracing_subscriber::{EnvFilter, filter::Targets, fmt, prelude::*};

use super::trace::{Collector, TRACE, TraceError, Traces};

/// What is logged, before what is configured.
const FILTER: &str = "RUST_LOG";

/// Telemetry cannot be set up as asked for.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{given:?} is no log filter: {reason}; use a level such as info, or warn,assay=debug")]
    Filter { given: String, reason: String },
    #[error(transparent)]
    Traces(#[from] TraceError),
    #[error("the log was already set up")]
    Twice,
}

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

/// Sends the log of this process to standard error: what `filter` lets through, in the syntax of `RUST_LOG`, which goes before it; as
/// text on a terminal and JSON otherwise, unless a `format` is given. And traces to a collector where there is one. Called once, by
/// the binary, on a runtime.
///
/// # Errors
/// [`LogError`]; nothing is logged then.
pub fn start(given: &str, format: Option<Format>, collector: Option<&Collector>) -> Result<Option<Traces>, LogError> {
    let terminal = stderr().is_terminal();
    let named = env::var(FILTER).ok().filter(|text| !text.is_empty());
    let filter = filter(named.as_deref().unwrap_or(given))?;
    let (traces, tracer) = collector.map(Traces::start).transpose()?.unzip();
    let spans = tracer.map(|tracer| {
        let layer = tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false);
        layer.with_target(false).with_filter(Targets::new().with_target(TRACE, tracing::Level::INFO))
    });
    let subscriber = tracing_subscriber::registry().with(spans);
    match format.unwrap_or(if terminal { Format::Text } else { Format::Json }) {
        Format::Text => subscriber.with(fmt::layer().with_writer(stderr).with_ansi(terminal).with_filter(filter)).try_init(),
        Format::Json => subscriber.with(fmt::layer().json().flatten_event(true).with_writer(stderr).with_filter(filter)).try_init(),
    }
    .map_err(|_| LogError::Twice)?;
    Ok(traces)
}

/// Without the spans that traces are made of.
fn filter(given: &str) -> Result<EnvFilter, LogError> {
    let wrong = |reason: String| LogError::Filter { given: given.to_owned(), reason };
    let none = format!("{TRACE}=off").parse().map_err(|error| wrong(format!("{error}")))?;
    EnvFilter::try_new(given).map(|filter| filter.add_directive(none)).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_used_is_named() {
        assert!(filter("warn,assay=debug").is_ok());
        assert!(filter("assay=loud").unwrap_err().to_string().contains("assay=loud"));
    }
}
