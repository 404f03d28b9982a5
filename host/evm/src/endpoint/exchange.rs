//! One HTTP exchange with an endpoint: its timeout, the size of its answer, and the meaning of its status.

use std::{sync::atomic::Ordering, time::Duration};

use alloy::rpc::json_rpc::RequestPacket;
use http::{HeaderMap, StatusCode};
use tokio::time::{Instant, timeout, timeout_at};

use super::{Answer, Endpoint};
use crate::{fault::Fault, intake::Intake, limits, pauses, wording::BATCH};

impl Endpoint {
    /// Waits `longest` for an answer, and again while the endpoint answers other requests, up to its timeout: such an
    /// endpoint is busy, not down. Fails with the time waited.
    pub(super) async fn within_timeout<T>(
        &self,
        longest: Duration,
        answer: impl Future<Output = T>,
    ) -> Result<T, Duration> {
        let started = Instant::now();
        let mut answer = std::pin::pin!(answer);
        loop {
            let answered = self.answered.load(Ordering::Relaxed);
            let left = self.timeout.saturating_sub(started.elapsed());
            match timeout(longest.min(left), &mut answer).await {
                Ok(answer) => return Ok(answer),
                Err(_) if self.answered.load(Ordering::Relaxed) > answered && started.elapsed() < self.timeout => {}
                Err(_) => return Err(started.elapsed()),
            }
        }
    }

    pub(super) async fn exchange<A: Answer>(
        &self,
        client: &reqwest::Client,
        body: Vec<u8>,
        method: &str,
        mut answer: Intake,
    ) -> Result<A, Fault> {
        let lost = |error: reqwest::Error| Fault::Unreachable(root_cause(&error.without_url()));
        let trace = if self.traceparent { assay_trace::outgoing() } else { HeaderMap::new() };
        let request = client
            .post(self.url.clone())
            .headers(trace)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(body);
        let mut response = request.send().await.map_err(lost)?;
        let status = response.status();
        let after = response
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = after.map(Duration::from_secs).map(|wait| wait.min(pauses::MAX_RETRY_AFTER));
        while let Some(chunk) = soon_enough(answer.deadline(), response.chunk()).await?.map_err(lost)? {
            if !answer.take(&chunk).await {
                return Err(Fault::TooDense { suggested: None });
            }
        }
        self.meaning(status, after, answer.bytes(), method)
    }

    /// The answer to `method`, or the fault that its status and body mean. `after` is its `Retry-After`.
    fn meaning<A: Answer>(
        &self,
        status: StatusCode,
        after: Option<Duration>,
        body: &[u8],
        method: &str,
    ) -> Result<A, Fault> {
        if status == StatusCode::TOO_MANY_REQUESTS || (after.is_some() && status.is_server_error()) {
            return Err(Fault::RateLimited { message: format!("HTTP status {status}"), after });
        }
        match A::read(body).map(|answer| self.redacted(answer)) {
            Ok(answer) if status.is_success() || answer.is_refused() => Ok(answer),
            read => Err(self.worded(body, method).unwrap_or_else(|| match read {
                // Most likely too many calls for this endpoint; it may accept fewer.
                _ if method == BATCH && matches!(status.as_u16(), 400 | 413) => Fault::TooManyCalls { most: None },
                _ if status.is_server_error() => Fault::Unreachable(format!("HTTP status {status}")),
                _ if !status.is_success() => Fault::Denied(format!("HTTP status {status}")),
                Ok(_) => Fault::Malformed("no result".into()),
                Err(error) => Fault::unreadable(&error),
            })),
        }
    }

    /// The fault that a short text in place of an answer means, if its words are known.
    fn worded(&self, body: &[u8], method: &str) -> Option<Fault> {
        let text = std::str::from_utf8(body).ok().filter(|text| text.len() <= limits::ERROR_TEXT)?;
        Fault::of_text(method, &self.redact.text(text).unwrap_or_else(|| text.to_owned()))
    }

    /// Removes the credentials of this endpoint from errors in `answer`, which are logged.
    fn redacted<A: Answer>(&self, mut answer: A) -> A {
        for error in answer.errors_mut() {
            if let Some(clean) = self.redact.text(&error.message) {
                error.message = clean.into();
            }
        }
        answer
    }
}

/// The fault of an answer that refuses the request for its rate, and the requested pause. Some endpoints refuse only
/// some calls of a batch.
pub(super) fn refused(
    answer: &Result<impl Answer, Fault>,
    packet: &RequestPacket,
) -> Option<(Fault, Option<Duration>)> {
    let limited = |fault: Fault| match fault {
        Fault::RateLimited { after, .. } => Some((fault, after)),
        _ => None,
    };
    match answer {
        Ok(answer) => answer.faults(packet).into_iter().find_map(|(_, fault)| limited(fault)),
        Err(fault) => limited(fault.clone()),
    }
}

/// The next part of an answer, if it is there by `deadline`.
async fn soon_enough<T>(deadline: Option<Instant>, part: impl Future<Output = T>) -> Result<T, Fault> {
    let Some(deadline) = deadline else { return Ok(part.await) };
    let slow = || Fault::Slow { message: "a large answer came too slowly".into() };
    timeout_at(deadline, part).await.map_err(|_| slow())
}

/// The innermost cause of an error; the outer layers of a connection error repeat it.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
