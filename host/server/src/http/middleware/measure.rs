//! Metrics and traces of a route, labelled with the pattern of the route, never with the path of a client.

use std::{
    convert::Infallible,
    future::Future,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll},
    time::Instant,
};

use axum::{extract::Request, response::Response};
use metrics::{Counter, Gauge, Histogram};
use tower::{Layer, Service};
use tracing::Instrument;

use super::identify::REQUEST_ID;
use crate::telemetry;

/// The metric handles of one route, looked up once.
#[derive(Clone)]
pub struct Measure(Arc<Handles>);

struct Handles {
    method: &'static str,
    route: &'static str,
    seconds: OnceLock<Histogram>,
    in_flight: OnceLock<Gauge>,
    /// By status from 100 to 599.
    answers: Box<[OnceLock<Counter>]>,
}

impl Measure {
    pub fn of(method: &'static str, route: &'static str) -> Self {
        let answers = std::iter::repeat_with(OnceLock::new).take(500).collect();
        Self(Arc::new(Handles { method, route, seconds: OnceLock::new(), in_flight: OnceLock::new(), answers }))
    }
}

impl Handles {
    fn started(&self) -> &Gauge {
        self.in_flight.get_or_init(
            || metrics::gauge!("assay_http_requests_in_flight", "method" => self.method, "route" => self.route),
        )
    }

    fn answered(&self, status: u16, started: Instant) {
        let seconds =
            || metrics::histogram!("assay_http_request_seconds", "method" => self.method, "route" => self.route);
        self.seconds.get_or_init(seconds).record(started.elapsed());
        let status_text = || status.to_string();
        let counter = || {
            let status = status_text();
            metrics::counter!("assay_http_requests_total", "method" => self.method, "route" => self.route, "status" => status)
        };
        if let Some(slot) = status.checked_sub(100).and_then(|index| self.answers.get(usize::from(index))) {
            slot.get_or_init(counter).increment(1);
        }
    }
}

/// Counts a request in flight. The drop also covers a client that disconnects.
struct InFlight(Arc<Handles>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.started().decrement(1.0);
    }
}

#[derive(Clone)]
pub struct Measured<S> {
    inner: S,
    handles: Arc<Handles>,
}

impl<S> Layer<S> for Measure {
    type Service = Measured<S>;

    fn layer(&self, inner: S) -> Measured<S> {
        Measured { inner, handles: self.0.clone() }
    }
}

impl<S> Service<Request> for Measured<S>
where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send + 'static>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let started = Instant::now();
        self.handles.started().increment(1.0);
        let in_flight = InFlight(self.handles.clone());
        let headers = request.headers();
        let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
        let span = telemetry::request(self.handles.method, self.handles.route, id, headers);
        let answer = span.in_scope(|| self.inner.call(request)).instrument(span.clone());
        Box::pin(async move {
            let response = answer.await?;
            telemetry::answered(&span, response.status());
            in_flight.0.answered(response.status().as_u16(), started);
            Ok(response)
        })
    }
}
