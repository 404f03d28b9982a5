//! The spans of a trace: one target for all of them, and the headers that identify a trace to another server. Every
//! crate that makes outgoing calls makes spans; only `assay-telemetry` sends them to a collector.

use http::HeaderMap;
use opentelemetry::{Context, propagation::TextMapPropagator};
use opentelemetry_http::HeaderInjector;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Target of the spans of traces.
pub const TRACE: &str = "assay::trace";

/// Makes `span` a child of the current trace, for work that may outlast its caller. A span that is entered here would
/// end before that work.
pub fn adopt(span: Span) -> Span {
    if !span.is_disabled() {
        let _ = span.set_parent(Span::current().context());
    }
    span
}

/// The headers that identify the current trace to another server; empty if there is no trace.
pub fn outgoing() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context: Context = Span::current().context();
    TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(&mut headers));
    headers
}
