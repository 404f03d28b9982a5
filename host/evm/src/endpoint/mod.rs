//! One JSON-RPC endpoint: requests within limits of time, size, concurrency and rate, its health, and the limits that
//! it revealed. Its URL may contain a credential and stays private; logs and metrics show the host.

mod answer;
mod exchange;
mod form;
mod health;
mod learned;
mod pace;
mod permits;
mod queue;
mod status;
mod waiting;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy::rpc::json_rpc::RequestPacket;
use metrics::Gauge;
use tokio::time::{Instant, timeout_at};
use url::Url;

use crate::{
    config::RpcLimits,
    fault::Fault,
    intake::{Intake, Share},
    limits,
    logs::Ceiling,
    redact::Redact,
};
use assay_domain::ChainId;
use exchange::refused;
use health::EndpointHealth;
use permits::{HeldPermits, Permits};
use queue::{RequestQueue, RequestTurn, TooManyCalls};
use waiting::WaitingCallers;

pub(crate) use answer::method_of;
pub use answer::{Answer, Failed};
pub use queue::Rank;

pub use exchange::root_cause;
pub use health::Readiness;
pub use learned::Learned;
pub use status::{EndpointPace, EndpointStatus};

const PROBES: [&str; 2] = ["eth_chainId", "eth_getBlockByNumber"];
/// The requests on which every other request depends. They have a separate permit: at most one reader at a time
/// requests the chain id and the newest block.
const FIRST: [(&str, &str); 2] = [("eth_chainId", ""), ("eth_getBlockByNumber", "\"latest\"")];

/// The HTTP client shared by all endpoints, or why there is none.
pub type Http = Result<reqwest::Client, String>;

/// A client for all endpoints.
pub fn http() -> Http {
    let builder =
        reqwest::Client::builder().connect_timeout(limits::CONNECT_TIMEOUT).redirect(reqwest::redirect::Policy::none());
    builder.build().map_err(|error| format!("no HTTP client: {error}"))
}

pub struct Endpoint {
    http: Http,
    url: Url,
    host: String,
    redact: Redact,
    chain: ChainId,
    timeout: Duration,
    /// Whether requests carry a `traceparent` header.
    traceparent: bool,
    /// Requests that wait for a permit or for the rate limit.
    waiting: Gauge,
    permits: Permits,
    share: Share,
    queue: RequestQueue,
    health: EndpointHealth,
    /// Number of its answers to any request.
    answered: AtomicU64,
    log_ceiling: Learned,
    batch_ceiling: Learned,
}

impl Endpoint {
    pub fn new(http: Http, url: Url, chain: ChainId, limits: &RpcLimits) -> Self {
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or("?").to_owned(),
        };
        // The client sends the user and password of a URL as a header.
        let sample = http.as_ref().ok().and_then(|http| http.post(url.clone()).build().ok());
        let authorization = sample
            .and_then(|request| Some(request.headers().get(http::header::AUTHORIZATION)?.to_str().ok()?.to_owned()));
        let pace = metrics::gauge!("assay_rpc_pace", "chain" => chain.to_string(), "endpoint" => host.clone());
        Self {
            http,
            redact: Redact::of(&url, authorization.as_deref()),
            url,
            host,
            chain,
            timeout: limits.timeout,
            traceparent: limits.traceparent,
            waiting: metrics::gauge!("assay_rpc_requests_waiting", "chain" => chain.to_string()),
            permits: Permits::new(limits.concurrency),
            share: Share::default(),
            queue: RequestQueue::new(Some(limits.per_second).filter(|bound| *bound > 0), pace),
            health: EndpointHealth::default(),
            answered: AtomicU64::new(0),
            log_ceiling: Learned::up_to(u64::MAX),
            batch_ceiling: Learned::up_to(limits::CALLS_PER_BATCH as u64),
        }
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    /// Number of its answers.
    pub fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Maximum span of blocks in a log query, as far as it is known.
    pub fn log_ceiling(&self) -> u64 {
        self.log_ceiling.get()
    }

    /// Records that it refuses wider spans.
    pub fn lower_log_ceiling(&self, Ceiling { width, is_named }: Ceiling) {
        if self.log_ceiling.lower(width, is_named) {
            tracing::info!(chain = self.chain, endpoint = self.host, width, "endpoint limits the range of eth_getLogs");
        }
    }

    /// Records an answer to a log query over `width` blocks.
    pub(crate) fn answered_logs(&self, width: u64) {
        if let Some(width) = self.log_ceiling.answered(width) {
            tracing::debug!(chain = self.chain, endpoint = self.host, width, "wider log queries are tried");
        }
    }

    /// Maximum calls per batch at present, as far as it is known.
    pub fn batch_ceiling(&self) -> usize {
        usize::try_from(self.batch_ceiling.get()).unwrap_or(limits::CALLS_PER_BATCH).min(self.queue.ceiling())
    }

    /// Records that it refuses batches of more than `calls`, of which it just answered one.
    pub fn lower_batch_ceiling(&self, calls: usize) {
        self.batch_ceiling.lower(calls as u64, false);
    }

    /// Records an answer to a batch of `calls`.
    pub(crate) fn answered_batch(&self, calls: usize) {
        self.batch_ceiling.answered(calls as u64);
    }

    /// Whether it has a known rate limit.
    pub fn is_paced(&self) -> bool {
        self.queue.is_limited()
    }

    /// The requests or calls per second that it accepts; `None` without a known limit.
    pub fn rate(&self) -> Option<f64> {
        self.queue.rate()
    }

    /// The calls per second that it accepts, if each call of a batch counts; `None` without such a known limit.
    pub fn call_rate(&self) -> Option<f64> {
        self.queue.call_rate()
    }

    /// Sends `packet` when its turn by `rank` comes, and again if the endpoint refuses because of its rate. `patience`
    /// is the maximum time for all turns.
    ///
    /// Each request runs as a separate task. Requests wait for each other's turns and permits; if a caller left one
    /// unpolled while awaiting another, neither would proceed.
    ///
    /// # Errors
    /// [`Fault`] if there is no JSON-RPC answer. An error in the answer is an answer, unless it is about the rate.
    pub async fn post<A: Answer>(
        self: &Arc<Self>,
        packet: &Arc<RequestPacket>,
        rank: Rank,
        patience: Duration,
    ) -> Result<A, Fault> {
        let (endpoint, packet) = (self.clone(), packet.clone());
        let posted = async move { endpoint.post_in_turn::<A>(&packet, rank, patience).await };
        assay_tasks::apart(posted).await.unwrap_or_else(|| Err(Fault::Unreachable("stopped".into())))
    }

    async fn post_in_turn<A: Answer>(
        &self,
        packet: &RequestPacket,
        rank: Rank,
        patience: Duration,
    ) -> Result<A, Fault> {
        let body = serde_json::to_vec(packet).map_err(|error| Fault::Malformed(error.to_string()))?;
        let rank = if is_first(packet) { Rank::First } else { rank };
        let _permits = self.permits(packet, rank).await?;
        let deadline = Instant::now() + patience;
        let mut refusal = None;
        loop {
            let turn = match timeout_at(deadline, self.turn(packet.len(), rank)).await {
                Ok(turn) => turn?,
                Err(_) => return Err(refusal.unwrap_or_else(no_turn)),
            };
            let answer = self.send::<A>(packet, body.clone(), rank).await;
            let Some((fault, after)) = refused(&answer, packet) else {
                if answer.is_ok() {
                    turn.answered();
                    self.answered.fetch_add(1, Ordering::Relaxed);
                }
                return answer;
            };
            if turn.refused(after) {
                tracing::info!(chain = self.chain, endpoint = self.host, %fault, "endpoint has a limit of rate; \
                                                                                  requests keep to it");
            }
            refusal = Some(fault);
        }
    }

    /// Requests first wait for permits, then for their turn. The most important requests have a separate permit.
    async fn permits(&self, packet: &RequestPacket, rank: Rank) -> Result<HeldPermits<'_>, Fault> {
        let _waiting = WaitingCallers::count(&self.waiting);
        self.permits.of(packet, rank).await
    }

    async fn turn(&self, calls: usize, rank: Rank) -> Result<RequestTurn<'_>, Fault> {
        let _waiting = WaitingCallers::count(&self.waiting);
        let turn = self.queue.turn(calls, rank).await;
        turn.map_err(|TooManyCalls { most }| Fault::TooManyCalls { most: Some(most) })
    }

    /// Sends `packet` once.
    async fn send<A: Answer>(&self, packet: &RequestPacket, body: Vec<u8>, rank: Rank) -> Result<A, Fault> {
        let client = self.http.as_ref().map_err(|error| Fault::Unreachable(error.clone()))?;
        let method = method_of(packet);
        let longest = if PROBES.contains(&method) {
            self.timeout.min(limits::PROBE_TIMEOUT.max(self.timeout / 4))
        } else {
            self.timeout
        };
        let intake =
            if rank == Rank::Stranger { Intake::within(limits::STRANGER_ANSWER) } else { Intake::of(&self.share) };
        let exchange = self.exchange::<A>(client, body, method, intake);
        let answer = self.within_timeout(longest, exchange).await.map_err(Fault::TimedOut)??;
        answer.belongs_to(packet)?;
        Ok(answer)
    }
}

fn no_turn() -> Fault {
    Fault::RateLimited { message: "too many requests wait for their turn".into(), after: None }
}

/// Whether every other request depends on `packet`.
fn is_first(packet: &RequestPacket) -> bool {
    let names = |(method, words): &(&str, &str)| {
        packet
            .as_single()
            .is_some_and(|r| r.method() == *method && r.params().is_some_and(|params| params.get().contains(words)))
    };
    FIRST.iter().any(names)
}
