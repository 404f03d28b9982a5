//! The spans of a trace: one target for all of them, and the headers that name a trace to another server. Every crate
//! that calls out makes spans; the server's `telemetry` alone sends them to a collector.

use http::HeaderMap;
use opentelemetry::{Context, propagation::TextMapPropagator};
use opentelemetry_http::HeaderInjector;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Target of the spans that traces are made of.
pub const TRACE: &str = "assay::trace";

/// Makes `span`, of work that may outlive its caller, a part of the current trace. A span that is entered here would
/// not end before that work does.
pub fn adopt(span: Span) -> Span {
    if !span.is_disabled() {
        let _ = span.set_parent(Span::current().context());
    }
    span
}

/// The headers that name the current trace to another server; empty where nothing is traced.
pub fn outgoing() -> HeaderMap {
    let mut headers = HeaderMap::new();
    let context: Context = Span::current().context();
    TraceContextPropagator::new().inject_context(&context, &mut HeaderInjector(&mut headers));
    headers
}
