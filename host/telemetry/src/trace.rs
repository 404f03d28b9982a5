//! Traces: the time that each part of a request takes, as spans for an OpenTelemetry collector. These spans have a
//! target of their own, so that the log does not show them and traces do not show the spans of the log. Without a
//! collector they are disabled.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use assay_trace::TRACE;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Limited};
use opentelemetry::{propagation::TextMapPropagator, trace::TracerProvider};
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    propagation::TraceContextPropagator,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use tokio::runtime::Handle;
use tracing::{Span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

/// Timeout of sending one batch, and of sending the last one when the server stops.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an answer of the collector, in bytes. It has a few words at most.
const MAX_ANSWER: usize = 64 << 10;

/// The collector of traces.
#[derive(Debug, Clone)]
pub struct Collector {
    /// The whole URL, such as `http://127.0.0.1:4318/v1/traces`.
    pub endpoint: String,
    /// Headers of every batch.
    pub headers: BTreeMap<String, String>,
    /// Share of requests that are traced, 0 to 1, where the caller's `traceparent` does not decide.
    pub sample: f64,
}

/// Traces cannot be sent.
#[derive(Debug, thiserror::Error)]
#[error("traces cannot be sent: {0}; correct [telemetry.traces]")]
pub struct TraceError(String);

/// The running exporter. Dropping it sends the last spans.
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts to send spans to `collector`, on the current runtime.
    ///
    /// # Errors
    /// [`TraceError`] if nothing can be sent to the collector.
    pub(super) fn start(collector: &Collector) -> Result<(Self, SdkTracer), TraceError> {
        let runtime = Handle::try_current().map_err(|error| TraceError(error.to_string()))?;
        let http = reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none()).build();
        let http = http.map_err(|error| TraceError(error.to_string()))?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&collector.endpoint)
            .with_timeout(TIMEOUT)
            .with_headers(collector.headers.clone().into_iter().collect::<HashMap<_, _>>())
            .with_http_client(SpanSender { http, runtime, failing: AtomicBool::new(false) })
            .build()
            .map_err(|error| TraceError(error.to_string()))?;
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(exporter)
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(collector.sample))))
            .with_resource(Resource::builder_empty().with_service_name("assay").build())
            .build();
        let tracer = provider.tracer("assay");
        Ok((Self(provider), tracer))
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // The log already has a warning about a collector that does not answer.
        let _ = self.0.shutdown_with_timeout(TIMEOUT);
    }
}

/// The span of a request to this server. It joins the trace of the caller's `traceparent`.
pub fn request(method: &'static str, route: &'static str, id: &str, headers: &HeaderMap) -> Span {
    let span = tracing::info_span!(
        target: TRACE,
        "request",
        otel.name = format_args!("{method} {route}"),
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = method,
        http.route = route,
        http.response.status_code = Empty,
        assay.request_id = id,
    );
    if !span.is_disabled() {
        // Without a parent the span starts a new trace, which is no error.
        let _ = span.set_parent(TraceContextPropagator::new().extract(&HeaderExtractor(headers)));
    }
    span
}

/// Adds the status of the response to the span of [`request`].
pub fn answered(span: &Span, status: StatusCode) {
    span.record("http.response.status_code", status.as_u16());
    if status.is_server_error() {
        span.record("otel.status_code", "ERROR");
    }
}

/// The HTTP client that sends batches. It is called on a thread outside the runtime, so it spawns on the runtime's
/// handle.
#[derive(Debug)]
struct SpanSender {
    http: reqwest::Client,
    runtime: Handle,
    failing: AtomicBool,
}

impl SpanSender {
    /// Counts a batch. Logs once that the collector refuses batches, and once that it accepts them again.
    fn note(&self, outcome: &Result<Response<Bytes>, HttpError>) {
        let (label, why) = match outcome {
            Ok(response) if response.status().is_success() => ("ok", None),
            Ok(response) => ("refused", Some(format!("HTTP status {}", response.status()))),
            Err(error) => ("unreachable", Some(error.to_string())),
        };
        metrics::counter!("assay_trace_batches_total", "outcome" => label).increment(1);
        match (why, self.failing.load(Ordering::Relaxed)) {
            (Some(why), false) => tracing::warn!(%why, "the collector does not accept traces"),
            (None, true) => tracing::info!("the collector accepts traces again"),
            _ => return,
        }
        self.failing.store(label != "ok", Ordering::Relaxed);
    }
}

impl HttpClient for SpanSender {
    fn send_bytes<'s, 'f>(
        &'s self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let request = reqwest::Request::try_from(request)?;
            let http = self.http.clone();
            let sent = self.runtime.spawn(async move {
                // The URL may hold a credential.
                let answer = http.execute(request).await.map_err(reqwest::Error::without_url)?;
                let status = answer.status();
                let body = Limited::new(reqwest::Body::from(answer), MAX_ANSWER).collect().await?;
                let mut response = Response::new(body.to_bytes());
                *response.status_mut() = status;
                Ok(response)
            });
            let outcome = sent.await?;
            self.note(&outcome);
            outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read as _, Write as _},
        net::TcpListener,
        thread,
    };

    use super::*;

    #[tokio::test]
    async fn a_collector_whose_answer_does_not_end_is_left() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1/traces", listener.local_addr().unwrap());
        let sent = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1_024]).unwrap();
            let head = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\n\r\n";
            let (mut sent, part) = (stream.write(head).unwrap(), [0; 1 << 16]);
            while let Ok(size) = stream.write(&part) {
                sent += size;
            }
            sent
        });
        let sender =
            SpanSender { http: reqwest::Client::new(), runtime: Handle::current(), failing: AtomicBool::new(false) };
        assert!(sender.send_bytes(Request::post(url).body(Bytes::new()).unwrap()).await.is_err());
        assert!(sent.join().unwrap() < 64 << 20, "more than what both systems buffer");
    }
}
