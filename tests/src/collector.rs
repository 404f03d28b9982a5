//! A mock of an OpenTelemetry collector: it accepts OTLP over HTTP, in protobuf, and records the spans.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use alloy::hex;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Router, routing::post};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use prost::Message;
use tokio::task::JoinHandle;

/// A span as received. Ids are in hexadecimal.
#[derive(Debug, Clone)]
pub struct Span {
    pub name: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// OTLP's number: 2 is a server, 3 a client.
    pub kind: i32,
    /// OTLP's number: 2 is an error.
    pub status: i32,
    /// Nanoseconds since 1970.
    pub started: u64,
    pub ended: u64,
    /// Attributes of the span and of its sender.
    pub attributes: BTreeMap<String, String>,
}

/// Running until dropped.
pub struct Collector {
    /// The URL for traces.
    pub url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    spans: Mutex<Vec<Span>>,
    authorizations: Mutex<Vec<Option<String>>>,
}

impl Collector {
    /// # Panics
    /// When no port can be bound.
    pub async fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let listener =
            tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap_or_else(|e| panic!("no free port: {e}"));
        let url = listener.local_addr().map(|at| format!("http://{at}/v1/traces")).unwrap_or_default();
        let app = Router::new().route("/v1/traces", post(take)).with_state(shared.clone());
        let server = tokio::spawn(async move { axum::serve(listener, app).await.unwrap_or_default() });
        Self { url, shared, server }
    }

    /// Returns all spans so far. A server sends its last spans when it stops.
    pub fn spans(&self) -> Vec<Span> {
        self.shared.spans.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the `Authorization` header of each batch.
    pub fn authorizations(&self) -> Vec<Option<String>> {
        self.shared.authorizations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn take(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Result<Vec<u8>, StatusCode> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    if text(header::CONTENT_TYPE).as_deref() != Some("application/x-protobuf") {
        return Err(StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    let request = ExportTraceServiceRequest::decode(body).map_err(|_| StatusCode::BAD_REQUEST)?;
    shared.authorizations.lock().unwrap_or_else(PoisonError::into_inner).push(text(header::AUTHORIZATION));
    let mut spans = shared.spans.lock().unwrap_or_else(PoisonError::into_inner);
    for sent in request.resource_spans {
        let from = attributes(sent.resource.map(|resource| resource.attributes).unwrap_or_default());
        for span in sent.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(Span {
                name: span.name,
                trace: hex::encode(span.trace_id),
                id: hex::encode(span.span_id),
                parent: hex::encode(span.parent_span_id),
                kind: span.kind,
                status: span.status.map(|status| status.code).unwrap_or_default(),
                started: span.start_time_unix_nano,
                ended: span.end_time_unix_nano,
                attributes: from.clone().into_iter().chain(attributes(span.attributes)).collect(),
            });
        }
    }
    Ok(ExportTraceServiceResponse::default().encode_to_vec())
}

fn attributes(given: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(yes) => yes.to_string(),
        Value::DoubleValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    given.into_iter().filter_map(|pair| Some((pair.key, text(pair.value?.value?)))).collect()
}
