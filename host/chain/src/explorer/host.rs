//! One explorer host: GETs within bounds of rate, time and size, with retries, and a rest where it denies or fails. Its
//! URL holds a key and never leaves here: the host's name stands for it.

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

use super::answer::{self, Refusal};
use crate::config::ExplorerLimits;
use assay_domain::ChainId;
use assay_evm::{endpoint::Http, redact::Redact};
use assay_trace::TRACE;

/// Largest answer read: some ten times what a page of rows takes.
const MAX_ANSWER_BYTES: usize = 16 << 20;
const RETRIES: u32 = 4;
/// First wait before a retry; doubled with each further one.
const BACKOFF: Duration = Duration::from_millis(250);
/// Longest wait that a `Retry-After` can ask of us.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
/// A wrong key is not tried again for this long: hosts shut out who tries one too often.
const DENIED_REST: Duration = Duration::from_secs(600);
/// After failed retries.
const FAILED_REST: Duration = Duration::from_secs(20);

pub(super) struct Host {
    http: Http,
    name: String,
    redact: Redact,
    timeout: Duration,
    pace: Option<DefaultDirectRateLimiter>,
    /// Until when it is not asked, and why.
    resting: Mutex<Option<(Instant, Refusal)>>,
}

impl Host {
    pub(super) fn new(http: Http, url: &Url, limits: &ExplorerLimits) -> Self {
        let name = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or("?").to_owned(),
        };
        // One by one: a host counts calls within a second, and a burst at its edge is too many.
        let rate =
            NonZeroU32::new(limits.per_second).and_then(|rate| Quota::with_period(Duration::from_secs(1) / rate.get()));
        Self {
            http,
            name,
            redact: Redact::of(url, None),
            timeout: limits.timeout,
            pace: rate.map(RateLimiter::direct),
            resting: Mutex::default(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The rows that `url` lists.
    ///
    /// # Errors
    /// [`Refusal`] after retries, or at once while the host rests.
    pub(super) async fn list(&self, url: Url, chain: ChainId) -> Result<Vec<Value>, Refusal> {
        if let Some((until, refusal)) = &*self.resting.lock().unwrap_or_else(PoisonError::into_inner)
            && *until > Instant::now()
        {
            return Err(refusal.clone());
        }
        let mut attempt = 0;
        loop {
            if let Some(pace) = &self.pace {
                pace.until_ready().await;
            }
            let started = Instant::now();
            let span = tracing::info_span!(target: TRACE, "ask explorer", otel.kind = "client", assay.chain = chain, assay.outcome = Empty);
            let (answer, after) = match timeout(self.timeout, self.get(url.clone())).instrument(span.clone()).await {
                Ok(answer) => answer,
                Err(_) => {
                    (Err(Refusal::Unreachable(format!("no answer within {} ms", self.timeout.as_millis()))), None)
                }
            };
            let outcome = answer.as_ref().map_or_else(Refusal::outcome, |_| "ok");
            span.record("assay.outcome", outcome);
            let labels = [("chain", chain.to_string()), ("outcome", outcome.to_owned())];
            metrics::counter!("assay_explorer_requests_total", &labels).increment(1);
            metrics::histogram!("assay_explorer_request_duration_seconds", "chain" => chain.to_string())
                .record(started.elapsed());
            match answer {
                Ok(rows) => return Ok(rows),
                Err(refusal) if refusal.is_worth_a_retry() && attempt < RETRIES => {
                    tokio::time::sleep(after.unwrap_or_else(|| BACKOFF.saturating_mul(1 << attempt.min(10)))).await;
                    attempt += 1;
                }
                Err(refusal) => {
                    self.refused(&refusal);
                    return Err(refusal);
                }
            }
        }
    }

    fn refused(&self, refusal: &Refusal) {
        let rest = match refusal {
            Refusal::TooLarge | Refusal::NotThisChain(_) | Refusal::Other(_) => return,
            Refusal::Denied(_) => DENIED_REST,
            Refusal::Rate | Refusal::Unreachable(_) | Refusal::Malformed(_) => FAILED_REST,
        };
        tracing::warn!(explorer = self.name, %refusal, seconds = rest.as_secs(), "explorer is left alone for a while; the node alone is read");
        *self.resting.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now() + rest, refusal.clone()));
    }

    /// Asks once; with the wait that the host asked for.
    async fn get(&self, url: Url) -> (Result<Vec<Value>, Refusal>, Option<Duration>) {
        let client = match &self.http {
            Ok(client) => client,
            Err(error) => return (Err(Refusal::Unreachable(error.clone())), None),
        };
        let lost = |error: reqwest::Error| {
            Refusal::Unreachable(if error.is_connect() { "no connection" } else { "the connection broke" }.into())
        };
        let mut response = match client.get(url).send().await {
            Ok(response) => response,
            Err(error) => return (Err(lost(error)), None),
        };
        let status = response.status();
        let after = response
            .headers()
            .get(http::header::RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let after = after.map(Duration::from_secs).map(|wait| wait.min(MAX_RETRY_AFTER));
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() > MAX_ANSWER_BYTES => {
                    return (Err(Refusal::TooLarge), after);
                }
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(error) => return (Err(lost(error)), after),
            }
        }
        let answer = match status.as_u16() {
            429 => Err(Refusal::Rate),
            // Some say what is wrong beside the status.
            401 | 403 => Err(answer::rows(&body)
                .err()
                .filter(|refusal| matches!(refusal, Refusal::NotThisChain(_)))
                .unwrap_or_else(|| Refusal::Denied(format!("HTTP status {status}")))),
            _ if status.is_server_error() => Err(Refusal::Unreachable(format!("HTTP status {status}"))),
            _ => answer::rows(&body),
        };
        (answer.map_err(|refusal| self.redacted(refusal)), after)
    }

    /// `refusal` without the key, which some repeat.
    fn redacted(&self, refusal: Refusal) -> Refusal {
        let clean = |text: String| self.redact.text(&text).unwrap_or(text);
        match refusal {
            Refusal::Denied(text) => Refusal::Denied(clean(text)),
            Refusal::NotThisChain(text) => Refusal::NotThisChain(clean(text)),
            Refusal::Other(text) => Refusal::Other(clean(text)),
            other => other,
        }
    }
}
