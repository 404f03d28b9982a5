//! Metrics and traces of a route, labelled with the pattern of the route, never with the path of a client.

use std::{
    sync::{Arc, OnceLock},
    time::Instant,
};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::Response,
};
use metrics::{Counter, Gauge, Histogram};
use tracing::Instrument;

use super::identify::REQUEST_ID;
use crate::route::Route;

/// The metric handles of one route, looked up once.
pub(crate) struct Handles {
    method: &'static str,
    route: &'static str,
    seconds: OnceLock<Histogram>,
    in_flight: OnceLock<Gauge>,
    /// By status from 100 to 599.
    answers: Box<[OnceLock<Counter>]>,
}

impl Handles {
    pub(crate) fn of(route: Route) -> Arc<Self> {
        let answers = std::iter::repeat_with(OnceLock::new).take(500).collect();
        let Route { method, path, .. } = route;
        Arc::new(Self { method, route: path, seconds: OnceLock::new(), in_flight: OnceLock::new(), answers })
    }

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
            metrics::counter!("assay_http_requests_total", "method" => self.method, "route" => self.route,
                "status" => status)
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

pub(crate) async fn measure(State(handles): State<Arc<Handles>>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    handles.started().increment(1.0);
    let in_flight = InFlight(handles.clone());
    let headers = request.headers();
    let id = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let span = assay_telemetry::request(handles.method, handles.route, id, headers);
    let response = next.run(request).instrument(span.clone()).await;
    assay_telemetry::answered(&span, response.status());
    in_flight.0.answered(response.status().as_u16(), started);
    response
}
