//! One JSON-RPC endpoint: a POST within bounds of time, size, concurrency and rate; whether it serves the right chain;
//! and what it has been found unable to answer. Its URL may hold a credential and never leaves here: the host stands
//! for it.

use std::{
    future::Future,
    num::NonZeroU32,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use alloy::rpc::json_rpc::{Id, Request, RequestPacket, Response, ResponsePacket, ResponsePayload};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::HeaderMap;
use metrics::Gauge;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};
use url::Url;

use crate::config::RpcLimits;
use crate::{fault::Fault, intake::Intake, redact::Redact};
use assay_domain::ChainId;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Longest wait for an answer that costs a node nothing. Every read begins with one, so that a silent endpoint is left
/// for the next within the time a request has.
const PROBE_TIMEOUT: Duration = Duration::from_millis(2_500);
const PROBES: [&str; 2] = ["eth_chainId", "eth_getBlockByNumber"];
/// Which of those everything else waits for, so that they wait for nothing: whom the chain id and the newest block are
/// told is one reader at a time.
const FIRST: [(&str, &str); 2] = [("eth_chainId", ""), ("eth_getBlockByNumber", "\"latest\"")];
/// What long histories are read by.
const HISTORY: [&str; 2] = ["eth_getLogs", "eth_getTransactionReceipt"];
/// First rest after a failure; doubled with each further one.
const REST: Duration = Duration::from_secs(1);
const MAX_REST: Duration = Duration::from_secs(30);
/// An endpoint of another chain is asked again after this long: somebody may have put it right.
const WRONG_CHAIN_REST: Duration = Duration::from_secs(60);
/// Longest wait that a `Retry-After` can ask of us.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Calls in one JSON-RPC batch, until an endpoint refuses that many.
const MAX_BATCH: usize = 100;

/// The HTTP client that all endpoints share, or why there is none.
pub type Http = Result<reqwest::Client, String>;

/// A client for all endpoints.
pub fn http() -> Http {
    let builder =
        reqwest::Client::builder().connect_timeout(CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
    builder.build().map_err(|error| format!("no HTTP client: {error}"))
}

pub struct Endpoint {
    http: Http,
    url: Url,
    host: String,
    redact: Redact,
    chain: ChainId,
    timeout: Duration,
    /// It is told the trace of a request.
    traceparent: bool,
    /// Calls that wait for a place or their turn.
    waiting: Gauge,
    gate: Semaphore,
    /// One place of those that `rpc.concurrency` gives, where it gives several, kept for what everything else waits
    /// for.
    first_gate: Option<Semaphore>,
    /// Passed first by log queries and receipts: long histories read in the background leave half of the gate to
    /// everybody else.
    log_gate: Semaphore,
    pace: Option<DefaultDirectRateLimiter>,
    standing: Mutex<Standing>,
    checking: tokio::sync::Mutex<()>,
    /// Answers it has given to anything.
    answered: AtomicU64,
    log_ceiling: AtomicU64,
    batch_ceiling: AtomicUsize,
}

/// One that waits is counted until it goes on or is given up.
struct Waiting<'a>(&'a Gauge);

impl<'a> Waiting<'a> {
    fn in_line(gauge: &'a Gauge) -> Self {
        gauge.increment(1.0);
        Self(gauge)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.decrement(1.0);
    }
}

#[derive(Debug, Clone)]
enum Standing {
    /// Its chain id is to be checked before it is used.
    Unchecked,
    Good,
    /// It failed `failures` times in a row, last with `fault`.
    Resting {
        until: Instant,
        failures: u32,
        fault: Fault,
    },
    WrongChain {
        until: Instant,
        found: ChainId,
    },
}

/// Whether an endpoint may be asked now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It failed a moment ago: one attempt is fair, several are not.
    Doubtful,
    /// Asking would cost the caller its time, or give another chain's answer.
    Out(Fault),
}

impl Endpoint {
    pub fn new(http: Http, url: Url, chain: ChainId, limits: &RpcLimits) -> Self {
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or("?").to_owned(),
        };
        // User and password of a URL are sent as a header.
        let sample = http.as_ref().ok().and_then(|http| http.post(url.clone()).build().ok());
        let authorization = sample
            .and_then(|request| Some(request.headers().get(http::header::AUTHORIZATION)?.to_str().ok()?.to_owned()));
        Self {
            http,
            redact: Redact::of(&url, authorization.as_deref()),
            url,
            host,
            chain,
            timeout: limits.timeout,
            traceparent: limits.traceparent,
            waiting: metrics::gauge!("assay_rpc_requests_waiting", "chain" => chain.to_string()),
            gate: Semaphore::new(limits.concurrency.saturating_sub(1).max(1)),
            first_gate: (limits.concurrency > 1).then(|| Semaphore::new(1)),
            log_gate: Semaphore::new((limits.concurrency / 2).max(1)),
            pace: NonZeroU32::new(limits.per_second).map(|rate| RateLimiter::direct(Quota::per_second(rate))),
            standing: Mutex::new(Standing::Unchecked),
            checking: tokio::sync::Mutex::new(()),
            answered: AtomicU64::new(0),
            log_ceiling: AtomicU64::new(u64::MAX),
            batch_ceiling: AtomicUsize::new(MAX_BATCH),
        }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// How many answers it has given.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Widest span of blocks it answers logs for, as far as known.
    pub fn log_ceiling(&self) -> u64 {
        self.log_ceiling.load(Ordering::Relaxed)
    }

    /// Remembers for good that spans wider than `width` are refused.
    pub fn lower_log_ceiling(&self, width: u64) {
        let width = width.max(1);
        if self.log_ceiling.fetch_min(width, Ordering::Relaxed) > width {
            tracing::info!(chain = self.chain, endpoint = self.host, width, "endpoint limits the range of eth_getLogs");
        }
    }

    /// Most calls it takes in one batch, as far as known.
    pub fn batch_ceiling(&self) -> usize {
        self.batch_ceiling.load(Ordering::Relaxed)
    }

    pub fn lower_batch_ceiling(&self, calls: usize) {
        self.batch_ceiling.fetch_min(calls.max(1), Ordering::Relaxed);
    }

    pub fn readiness(&self) -> Readiness {
        match &*self.standing.lock().unwrap_or_else(PoisonError::into_inner) {
            Standing::Unchecked | Standing::Good => Readiness::Ready,
            Standing::Resting { until, fault, .. } if *until > Instant::now() => match fault {
                // A refused connection tells at once; silence costs the whole timeout.
                Fault::Unreachable(_) => Readiness::Doubtful,
                fault => Readiness::Out(fault.clone()),
            },
            Standing::WrongChain { until, found } if *until > Instant::now() => {
                Readiness::Out(self.wrong_chain(*found))
            }
            Standing::Resting { .. } | Standing::WrongChain { .. } => Readiness::Ready,
        }
    }

    pub fn rest(&self, fault: &Fault) {
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = match &*standing {
            Standing::Resting { failures, .. } => failures.saturating_add(1),
            Standing::Unchecked | Standing::Good => 1,
            Standing::WrongChain { .. } => return,
        };
        if failures == 1 {
            tracing::warn!(chain = self.chain, endpoint = self.host, %fault, "endpoint failed");
        }
        let rest = REST.saturating_mul(1 << failures.saturating_sub(1).min(8)).min(MAX_REST);
        *standing = Standing::Resting { until: Instant::now() + rest, failures, fault: fault.clone() };
    }

    /// Makes sure that the endpoint serves the configured chain: before its first use, and after every failure.
    ///
    /// # Errors
    /// [`Fault::WrongChain`] where it serves another one.
    pub async fn check_chain(&self) -> Result<(), Fault> {
        let is_good = || matches!(*self.standing.lock().unwrap_or_else(PoisonError::into_inner), Standing::Good);
        if is_good() {
            return Ok(());
        }
        let _one_at_a_time = self.checking.lock().await;
        if is_good() {
            return Ok(());
        }
        let request =
            Request::new("eth_chainId", Id::Number(0), ()).serialize().map_err(|e| Fault::Malformed(e.to_string()))?;
        let ResponsePacket::Single(response) = self.post(&request.into()).await? else {
            return Err(Fault::Malformed("a batch for a single request".into()));
        };
        if let Some(payload) = response.payload.as_error() {
            return Err(Fault::from_payload(payload));
        }
        let found = response
            .try_success_as::<alloy::primitives::U64>()
            .and_then(Result::ok)
            .ok_or_else(|| Fault::Malformed("eth_chainId is no number".into()))?
            .to::<u64>();
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        if found == self.chain {
            *standing = Standing::Good;
            return Ok(());
        }
        if !matches!(&*standing, Standing::WrongChain { .. }) {
            tracing::error!(
                chain = self.chain,
                endpoint = self.host,
                found,
                "endpoint serves another chain and is not used; correct chains.rpc in the configuration"
            );
        }
        *standing = Standing::WrongChain { until: Instant::now() + WRONG_CHAIN_REST, found };
        Err(self.wrong_chain(found))
    }

    fn wrong_chain(&self, found: ChainId) -> Fault {
        Fault::WrongChain { found, expected: self.chain }
    }

    /// Sends `packet` once.
    ///
    /// # Errors
    /// [`Fault`] where there is no JSON-RPC answer. An error in the answer is an answer.
    pub async fn post(&self, packet: &RequestPacket) -> Result<ResponsePacket, Fault> {
        let client = self.http.as_ref().map_err(|error| Fault::Unreachable(error.clone()))?;
        let body = serde_json::to_vec(packet).map_err(|error| Fault::Malformed(error.to_string()))?;
        let closed = |_| Fault::Unreachable("stopped".into());
        let method = packet.as_single().map_or("", |request| request.method());
        let is_history = packet.requests().iter().any(|request| HISTORY.contains(&request.method()));
        let waiting = Waiting::in_line(&self.waiting);
        let _log_slot = if is_history { Some(self.log_gate.acquire().await.map_err(closed)?) } else { None };
        let gate = self.first_gate.as_ref().filter(|_| is_first(packet)).unwrap_or(&self.gate);
        let _slot = gate.acquire().await.map_err(closed)?;
        // Behind the gate, so that a crowd waits there and not here, where nobody is first.
        if let Some(pace) = &self.pace {
            for _ in 0..packet.len() {
                pace.until_ready().await;
            }
        }
        drop(waiting);
        let longest = if PROBES.contains(&method) { self.timeout.min(PROBE_TIMEOUT) } else { self.timeout };
        let is_batch = packet.as_batch().is_some();
        match self.patient(longest, self.exchange(client, body, is_batch)).await {
            Ok(Ok(ResponsePacket::Single(response))) if is_batch => match response.payload.as_error() {
                Some(payload) => Err(Fault::from_payload(payload)),
                None => Err(Fault::Malformed("a single answer to a batch".into())),
            },
            // What stands between us and a node may mix its answers up. An error before the request was understood has
            // no id.
            Ok(Ok(ResponsePacket::Single(response))) if is_foreign(packet, &response) => {
                Err(Fault::Malformed("an answer to another request".into()))
            }
            Ok(answer) => answer,
            Err(waited) => Err(Fault::TimedOut(waited)),
        }
    }

    /// Waits `longest` for an answer, and as long again while others have theirs, up to the timeout: an endpoint that
    /// answers is busy and not silent. The time waited where none came.
    async fn patient<T>(&self, longest: Duration, answer: impl Future<Output = T>) -> Result<T, Duration> {
        let started = Instant::now();
        let mut answer = std::pin::pin!(answer);
        loop {
            let answered = self.answered.load(Ordering::Relaxed);
            let left = self.timeout.saturating_sub(started.elapsed());
            match timeout(longest.min(left), &mut answer).await {
                Ok(answer) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(_) if self.answered.load(Ordering::Relaxed) > answered && started.elapsed() < self.timeout => {}
                Err(_) => return Err(started.elapsed()),
            }
        }
    }

    async fn exchange(&self, client: &reqwest::Client, body: Vec<u8>, is_batch: bool) -> Result<ResponsePacket, Fault> {
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
        let after = after.map(Duration::from_secs).map(|wait| wait.min(MAX_RETRY_AFTER));
        let mut answer = Intake::default();
        while let Some(chunk) = response.chunk().await.map_err(lost)? {
            if !answer.take(&chunk).await {
                return Err(Fault::TooDense { suggested: None });
            }
        }
        let packet = serde_json::from_slice::<ResponsePacket>(answer.bytes());
        if status == http::StatusCode::TOO_MANY_REQUESTS || (after.is_some() && status.is_server_error()) {
            return Err(Fault::RateLimited { message: format!("HTTP status {status}"), after });
        }
        match packet.map(|packet| self.redacted(packet)) {
            Ok(packet) if status.is_success() || packet.is_error() => Ok(packet),
            // Too many calls for this endpoint, most likely: fewer may pass.
            _ if is_batch && matches!(status.as_u16(), 400 | 413) => {
                Err(Fault::Refused { code: status.as_u16().into(), message: format!("HTTP status {status}") })
            }
            _ if status.is_server_error() => Err(Fault::Unreachable(format!("HTTP status {status}"))),
            _ if !status.is_success() => Err(Fault::Denied(format!("HTTP status {status}"))),
            Ok(_) => Err(Fault::Malformed("no result".into())),
            Err(error) => Err(Fault::unreadable(&error)),
        }
    }

    /// The packet with the credentials of this endpoint taken out of its errors, which are logged.
    fn redacted(&self, mut packet: ResponsePacket) -> ResponsePacket {
        let responses = match &mut packet {
            ResponsePacket::Single(response) => std::slice::from_mut(response),
            ResponsePacket::Batch(responses) => responses.as_mut_slice(),
        };
        for response in responses {
            if let ResponsePayload::Failure(error) = &mut response.payload
                && let Some(clean) = self.redact.text(&error.message)
            {
                error.message = clean.into();
            }
        }
        packet
    }
}

/// Whether `packet` is what everything else waits for.
fn is_first(packet: &RequestPacket) -> bool {
    let names = |(method, words): &(&str, &str)| {
        packet
            .as_single()
            .is_some_and(|r| r.method() == *method && r.params().is_some_and(|params| params.get().contains(words)))
    };
    FIRST.iter().any(names)
}

/// Whether `response` bears the id of another request than the one that was sent.
fn is_foreign(packet: &RequestPacket, response: &Response) -> bool {
    let nameless = response.id.is_none() && response.is_error();
    packet.as_single().is_some_and(|request| *request.id() != response.id) && !nameless
}

/// The innermost reason: outer layers of a connection error repeat one another.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
