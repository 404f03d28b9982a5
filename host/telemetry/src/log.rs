//! Sets up the subscriber of this process for log and traces. The log goes to standard error, because standard output
//! has only the output of a command.

use std::{
    env,
    io::{IsTerminal, stderr},
};

use assay_trace::TRACE;
use opentelemetry_sdk::trace::SdkTracer;
use tracing::{Dispatch, Subscriber, level_filters::LevelFilter};
use tracing_subscriber::{Layer, filter::Targets, fmt, prelude::*, registry::LookupSpan};

use super::trace::{Collector, TraceError, Traces};

/// Environment variable with a log filter that replaces the configured one.
const FILTER: &str = "RUST_LOG";

/// Why telemetry cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error("{given:?} is not a log filter: {reason}; use a level such as info, or warn,assay=debug")]
    Filter { given: String, reason: String },
    #[error(transparent)]
    Traces(#[from] TraceError),
    #[error("the log was already set up")]
    Twice,
}

/// Format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Text,
    Json,
}

/// Sends the log of this process to standard error, and traces to the collector. `RUST_LOG` overrides the filter
/// `given`. Without a `format`, the log is text on a terminal and JSON otherwise. The binary calls this once, on a
/// runtime.
///
/// # Errors
/// [`LogError`]; then nothing is logged.
pub fn start(given: &str, format: Option<Format>, collector: Option<&Collector>) -> Result<Option<Traces>, LogError> {
    let terminal = stderr().is_terminal();
    let named = env::var(FILTER).ok().filter(|text| !text.is_empty());
    let filter = filter(named.as_deref().unwrap_or(given))?;
    let (traces, tracer) = collector.map(Traces::start).transpose()?.unzip();
    let format = format.unwrap_or(if terminal { Format::Text } else { Format::Json });
    subscriber(filter, format, terminal, tracer).try_init().map_err(|_| LogError::Twice)?;
    Ok(traces)
}

fn subscriber(filter: Targets, format: Format, colours: bool, tracer: Option<SdkTracer>) -> Dispatch {
    let Some(tracer) = tracer else {
        // An absent layer would enable every span, although nothing reads them.
        return tracing_subscriber::registry().with(filter).with(lines(format, colours)).into();
    };
    let spans =
        tracing_opentelemetry::layer().with_tracer(tracer).with_location(false).with_threads(false).with_target(false);
    let spans = spans.with_filter(Targets::new().with_target(TRACE, tracing::Level::INFO));
    tracing_subscriber::registry().with(lines(format, colours).with_filter(filter)).with(spans).into()
}

fn lines<S: Subscriber + for<'a> LookupSpan<'a>>(format: Format, colours: bool) -> Box<dyn Layer<S> + Send + Sync> {
    match format {
        Format::Text => fmt::layer().with_writer(stderr).with_ansi(colours).boxed(),
        Format::Json => fmt::layer().json().flatten_event(true).with_writer(stderr).boxed(),
    }
}

/// The filter of the log, without the spans of traces.
fn filter(given: &str) -> Result<Targets, LogError> {
    let filter: Targets =
        given.parse().map_err(|error| LogError::Filter { given: given.to_owned(), reason: format!("{error}") })?;
    Ok(filter.with_target(TRACE, LevelFilter::OFF))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_collector_the_spans_of_traces_are_disabled() {
        for given in ["info", "trace", "warn,assay=debug"] {
            let subscriber = subscriber(filter(given).unwrap(), Format::Json, false, None);
            tracing::dispatcher::with_default(&subscriber, || {
                assert!(tracing::info_span!(target: TRACE, "rpc").is_disabled(), "{given}");
                assert!(!tracing::info_span!(target: "assay_http::server", "request").is_disabled(), "{given}");
            });
        }
    }

    #[test]
    fn a_wrong_filter_is_named() {
        assert!(filter("warn,assay=debug").is_ok());
        assert!(filter("assay=loud").unwrap_err().to_string().contains("assay=loud"));
    }
}
