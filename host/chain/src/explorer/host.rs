//! One explorer host: GET requests with limits on rate, time and size, with retries, and a pause after a refusal or a
//! failure. Its URL contains a key, so logs and errors name only the host.

use std::{
    num::NonZeroU32,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde_json::Value;
use tokio::time::timeout;
use tracing::{Instrument, field::Empty};
use url::Url;

use super::{ExplorerRefusal, answer};
use crate::{config::ExplorerLimits, limits, pauses};
use assay_domain::ChainId;
use assay_evm::{
    body::{self, BodyError},
    endpoint::Http,
    redact::Redact,
};
use assay_trace::TRACE;

pub(super) struct ExplorerHost {
    http: Http,
    name: String,
    redact: Redact,
    timeout: Duration,
    rate_limiter: Option<DefaultDirectRateLimiter>,
    /// The end of the pause, and its reason.
    paused: Mutex<Option<(Instant, ExplorerRefusal)>>,
}

impl ExplorerHost {
    pub(super) fn new(http: Http, url: &Url, limits: &ExplorerLimits) -> Self {
        let name = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or("?").to_owned(),
        };
        // Requests are spaced evenly: a burst across the end of a second would exceed the host's limit.
        let rate =
            NonZeroU32::new(limits.per_second).and_then(|rate| Quota::with_period(Duration::from_secs(1) / rate.get()));
        Self {
            http,
            name,
            redact: Redact::of(url, None),
            timeout: limits.timeout,
            rate_limiter: rate.map(RateLimiter::direct),
            paused: Mutex::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The rows at `url`.
    ///
    /// # Errors
    /// [`ExplorerRefusal`] after retries, or at once during a pause.
    pub(super) async fn list(&self, url: Url, chain: ChainId) -> Result<Vec<Value>, ExplorerRefusal> {
        if let Some((until, refusal)) = &*self.paused.lock().unwrap_or_else(PoisonError::into_inner)
            && *until > Instant::now()
        {
            return Err(refusal.clone());
        }
        let mut attempt = 0;
        loop {
            if let Some(limiter) = &self.rate_limiter {
                limiter.until_ready().await;
            }
            let started = Instant::now();
            let span = tracing::info_span!(target: TRACE, "ask explorer", otel.kind = "client", assay.chain = chain,
                assay.outcome = Empty);
            let (answer, after) = match timeout(self.timeout, self.get(url.clone())).instrument(span.clone()).await {
                Ok(answer) => answer,
                Err(_) => (
                    Err(ExplorerRefusal::Unreachable(format!("no answer within {} ms", self.timeout.as_millis()))),
                    None,
                ),
            };
            let outcome = answer.as_ref().map_or_else(ExplorerRefusal::outcome, |_| "ok");
            span.record("assay.outcome", outcome);
            let labels = [("chain", chain.to_string()), ("outcome", outcome.to_owned())];
            metrics::counter!("assay_explorer_requests_total", &labels).increment(1);
            metrics::histogram!("assay_explorer_request_duration_seconds", "chain" => chain.to_string())
                .record(started.elapsed());
            match answer {
                Ok(rows) => return Ok(rows),
                Err(refusal) if refusal.is_retryable() && attempt < pauses::EXPLORER_RETRIES => {
                    tokio::time::sleep(
                        after.unwrap_or_else(|| pauses::EXPLORER_BACKOFF.saturating_mul(1 << attempt.min(10))),
                    )
                    .await;
                    attempt += 1;
                }
                Err(refusal) => {
                    self.pause_after(&refusal);
                    return Err(refusal);
                }
            }
        }
    }

    fn pause_after(&self, refusal: &ExplorerRefusal) {
        let pause = match refusal {
            ExplorerRefusal::TooLarge | ExplorerRefusal::NotThisChain(_) | ExplorerRefusal::Other(_) => return,
            ExplorerRefusal::Denied(_) => pauses::EXPLORER_DENIED,
            ExplorerRefusal::Rate | ExplorerRefusal::Unreachable(_) | ExplorerRefusal::Malformed(_) => {
                pauses::EXPLORER_FAILED
            }
        };
        tracing::warn!(explorer = self.name, %refusal, seconds = pause.as_secs(), "explorer is not asked for a while; \
                                                                                   the node alone is read");
        *self.paused.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now() + pause, refusal.clone()));
    }

    /// Sends one request. The second value is the wait that the host asked for.
    async fn get(&self, url: Url) -> (Result<Vec<Value>, ExplorerRefusal>, Option<Duration>) {
        let client = match &self.http {
            Ok(client) => client,
            Err(error) => return (Err(ExplorerRefusal::Unreachable(error.clone())), None),
        };
        let response = match client.get(url).send().await {
            Ok(response) => response,
            Err(error) => return (Err(lost(error)), None),
        };
        let status = response.status();
        let after = response
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = after.map(Duration::from_secs).map(|wait| wait.min(pauses::MAX_EXPLORER_RETRY_AFTER));
        let body = match body::read(response, limits::EXPLORER_BODY).await {
            Ok(body) => body,
            Err(BodyError::TooLarge) => return (Err(ExplorerRefusal::TooLarge), after),
            Err(BodyError::Lost(error)) => return (Err(lost(error)), after),
        };
        let answer = match status.as_u16() {
            429 => Err(ExplorerRefusal::Rate),
            // Some hosts give the reason in the body.
            401 | 403 => Err(answer::rows(&body)
                .err()
                .filter(|refusal| matches!(refusal, ExplorerRefusal::NotThisChain(_)))
                .unwrap_or_else(|| ExplorerRefusal::Denied(format!("HTTP status {status}")))),
            _ if status.is_server_error() => Err(ExplorerRefusal::Unreachable(format!("HTTP status {status}"))),
            _ => answer::rows(&body),
        };
        (answer.map_err(|refusal| self.redacted(refusal)), after)
    }

    /// `refusal` without the key, which some hosts repeat.
    fn redacted(&self, refusal: ExplorerRefusal) -> ExplorerRefusal {
        let clean = |text: String| self.redact.text(&text).unwrap_or(text);
        match refusal {
            ExplorerRefusal::Denied(text) => ExplorerRefusal::Denied(clean(text)),
            ExplorerRefusal::NotThisChain(text) => ExplorerRefusal::NotThisChain(clean(text)),
            ExplorerRefusal::Other(text) => ExplorerRefusal::Other(clean(text)),
            other => other,
        }
    }
}

/// The refusal of a request without a response. The error's own text may contain the URL.
fn lost(error: reqwest::Error) -> ExplorerRefusal {
    ExplorerRefusal::Unreachable(if error.is_connect() { "no connection" } else { "the connection broke" }.into())
}
