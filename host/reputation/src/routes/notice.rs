//! The status of a submission for a client that waits. The headers are sent at once, and the body when there is
//! something to say: a waiting client does not count as a request in progress, and disconnecting frees its slot.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{HeaderName, StatusCode, header},
    response::Response,
};
use futures::{Stream, stream};
use tokio::time::Instant;

use super::ReputationRoutes;
use crate::{Waiting, bodies::SubmissionBody, records::SubmissionRecord};
use assay_http::{ApiError, fresh};

/// Time between two signs of life in a stream without events.
const BEAT: Duration = Duration::from_secs(15);
/// Maximum duration of a stream. A client that needs more sends the request again.
const LONGEST: Duration = Duration::from_secs(900);
/// `Retry-After` if too many clients wait, in seconds: the pace of polling.
const POLL: u64 = 5;

/// A slot for a client that knows `record`.
///
/// # Errors
/// 503 if all slots are taken.
pub(crate) fn place(state: &ReputationRoutes, record: SubmissionRecord) -> Result<Waiting, ApiError> {
    state.notices.as_ref().and_then(|notices| notices.wait(record)).ok_or_else(|| {
        metrics::counter!("assay_http_refused_total", "reason" => "waiting").increment(1);
        let words = "Too many clients are waiting for submissions; poll without `wait`, every 5 to 10 seconds";
        ApiError::coded(StatusCode::SERVICE_UNAVAILABLE, "busy", words).retry_after(POLL)
    })
}

/// The next state, or the one that the client knows when `time` is up or the server stops.
pub(crate) fn next(state: &ReputationRoutes, mut waiting: Waiting, time: Duration) -> Response {
    let stopping = state.gate.stopping.clone();
    let body = stream::once(async move {
        let next = tokio::time::timeout(time, waiting.next());
        // In all three cases the last state is the answer.
        let _ = stopping.run_until_cancelled(next).await;
        Ok::<_, Infallible>(json(waiting.last()))
    });
    fresh::once(([(header::CONTENT_TYPE, "application/json")], Body::from_stream(body)))
}

/// Every state from the one that the client knows, until the last one or until the server stops.
pub(crate) fn each(state: &ReputationRoutes, waiting: Waiting) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // nginx passes it on without collecting it.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    fresh::once((headers, Body::from_stream(events(state.clone(), waiting))))
}

fn events(state: ReputationRoutes, waiting: Waiting) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let end = Instant::now() + LONGEST;
    // Tracks the subscriber and the last state sent to it; none after the last event.
    stream::unfold(Some((waiting, false)), move |at| {
        let stopping = state.gate.stopping.clone();
        async move {
            let (mut waiting, told) = at?;
            if told {
                tokio::select! {
                    () = waiting.next() => {}
                    () = tokio::time::sleep(BEAT) => {
                        return Some((Ok(Bytes::from_static(b":\n\n")), Some((waiting, told))));
                    }
                    () = tokio::time::sleep_until(end) => return None,
                    () = stopping.cancelled() => return None,
                }
            }
            let last = waiting.last().stage.is_terminal();
            let text = event(waiting.last());
            Some((Ok(text), (!last).then_some((waiting, true))))
        }
    })
}

fn event(record: &SubmissionRecord) -> Bytes {
    let data = json(record);
    [b"event: status\ndata: ", &data[..], b"\n\n"].concat().into()
}

/// The body has nothing that cannot be serialised.
fn json(record: &SubmissionRecord) -> Bytes {
    serde_json::to_vec(&SubmissionBody::of(record)).unwrap_or_default().into()
}
