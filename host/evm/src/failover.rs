//! The transport of one chain: its endpoints in configuration order, each with its retries before the next. Alloy's own
//! fallback asks several at once and ranks them by speed; here the first is preferred, and the others get requests only
//! if it fails or has too many waiting.

mod canon;
mod endpoint_order;
mod heads;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use alloy::{
    rpc::json_rpc::{RequestPacket, ResponsePacket, RpcError},
    transports::{TransportError, TransportErrorKind, TransportFut},
};
use futures::future::join_all;
use tokio::time::Instant;
use tower::Service;
use tracing::{Instrument, field::Empty};
use url::Url;

use crate::{
    config::{Endpoints, RpcLimits},
    endpoint::{Answer, Endpoint, EndpointStatus, Failed, Http, Rank, method_of},
    fault::Fault,
    pauses,
    single_flight::SingleFlight,
    span::Span,
};
use assay_trace::TRACE;
use endpoint_order::{EndpointAttempt, attempts};
use heads::SeenHeads;

pub(crate) use canon::{Canon, Known};

/// The code of a method that the endpoint does not have.
const METHOD_NOT_FOUND: i64 = -32601;

/// Cheap to clone.
#[derive(Clone)]
pub struct Failover {
    inner: Arc<FailoverInner>,
    /// For a second opinion, which leaves the endpoint that answers first as it is.
    left_out: Option<LeftOut>,
    rank: Rank,
}

/// The endpoint that a second opinion does not ask.
#[derive(Clone, Copy)]
enum LeftOut {
    /// The one that answered last at the time of a request.
    Current,
    At(Witness),
}

/// The endpoint that gave an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness(usize);

impl Witness {
    /// The endpoint at `index` of the configuration.
    pub fn at(index: usize) -> Self {
        Self(index)
    }
}

struct FailoverInner {
    endpoints: Vec<Arc<Endpoint>>,
    retries: u32,
    chain: String,
    /// Index of the endpoint that answered last.
    current: AtomicUsize,
    heads: SeenHeads,
    canon: Canon,
    /// The comparison of heads that is in progress.
    comparison: SingleFlight<(), ()>,
}

impl Failover {
    pub fn new(http: &Http, chain: &Endpoints, limits: &RpcLimits) -> Self {
        let urls = chain.rpc.iter().filter_map(|rpc| Url::parse(rpc.expose()).ok());
        let endpoints: Vec<_> =
            urls.map(|url| Arc::new(Endpoint::new(http.clone(), url, chain.chain, limits))).collect();
        let inner = FailoverInner {
            heads: SeenHeads::new(endpoints.len(), chain.max_head_age),
            canon: Canon::default(),
            comparison: SingleFlight::default(),
            endpoints,
            retries: limits.retries,
            chain: chain.chain.to_string(),
            current: AtomicUsize::new(0),
        };
        Self { inner: Arc::new(inner), left_out: None, rank: Rank::Usual }
    }

    /// The same endpoints without the one that answered last at the time of a request; `None` if there is no other.
    pub fn other_endpoints(&self) -> Option<Self> {
        self.without(LeftOut::Current)
    }

    /// The same endpoints without `witness`; `None` if there is no other.
    pub fn besides(&self, witness: Witness) -> Option<Self> {
        self.without(LeftOut::At(witness))
    }

    fn without(&self, left_out: LeftOut) -> Option<Self> {
        (self.inner.endpoints.len() > 1).then(|| Self { left_out: Some(left_out), ..self.clone() })
    }

    /// Whether this asks only the other endpoints.
    pub(crate) fn is_of_others(&self) -> bool {
        self.left_out.is_some()
    }

    /// The same endpoints, with requests of the lowest rank.
    pub fn behind(&self) -> Self {
        Self { rank: Rank::Last, ..self.clone() }
    }

    /// The same endpoints, with requests whose cost and failures depend on contracts that strangers chose.
    pub fn of_strangers(&self) -> Self {
        Self { rank: Rank::Stranger, ..self.clone() }
    }

    /// The endpoint that answered last; `None` if none is configured.
    pub fn current(&self) -> Option<&Endpoint> {
        self.inner.endpoints.get(self.inner.current.load(Ordering::Relaxed)).map(Arc::as_ref)
    }

    /// The endpoint that gave an answer.
    pub(crate) fn endpoint(&self, Witness(index): Witness) -> Option<&Endpoint> {
        self.inner.endpoints.get(index).map(Arc::as_ref)
    }

    /// What is known of the chain below its newest head.
    pub(crate) fn canon(&self) -> &Canon {
        &self.inner.canon
    }

    /// The status of each endpoint, in configuration order.
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        let current = self.inner.current.load(Ordering::Relaxed);
        let endpoints = self.inner.endpoints.iter().enumerate();
        endpoints.map(|(index, endpoint)| endpoint.status(index == current, self.inner.heads.of(index))).collect()
    }

    /// Number of answers of all endpoints.
    pub fn answered(&self) -> u64 {
        self.inner.endpoints.iter().map(|endpoint| endpoint.answered()).sum()
    }

    /// How long all endpoints still rest; `None` while one is usable.
    pub fn rest(&self) -> Option<Duration> {
        let rests: Option<Vec<Duration>> = self.inner.endpoints.iter().map(|endpoint| endpoint.rest()).collect();
        rests?.into_iter().min()
    }

    /// Tries resting endpoints, and puts them back into use. Runs forever.
    pub async fn watch(&self) {
        join_all(self.inner.endpoints.iter().map(Endpoint::watch)).await;
    }

    /// Sends `packet` until an endpoint gives a final answer.
    ///
    /// # Errors
    /// [`Fault`] if none does. An error in the answer is an answer.
    pub async fn send<A: Answer>(&self, packet: RequestPacket) -> Result<A, Fault> {
        Ok(self.send_with_witness(packet, None).await?.1)
    }

    /// Like [`send`](Self::send), for logs of `span` from endpoints that have its blocks: for blocks that it does not
    /// have yet, an endpoint answers with no logs. Also returns the one that answered.
    pub async fn send_with_witness<A: Answer>(
        &self,
        packet: RequestPacket,
        span: Option<Span>,
    ) -> Result<(Witness, A), Fault> {
        let started = Instant::now();
        let method = method_of(&packet).to_owned();
        let trace = tracing::info_span!(
            target: TRACE,
            "rpc",
            otel.name = method,
            otel.kind = "client",
            otel.status_code = Empty,
            rpc.system = "jsonrpc",
            assay.chain = self.inner.chain,
            assay.calls = packet.len(),
            assay.outcome = Empty,
            server.address = Empty,
        );
        let packet = Arc::new(packet);
        let answer = self.ask_in_turn::<A>(&packet, span).instrument(trace.clone()).await;
        let outcome = match &answer {
            Ok((_, answer)) => answer.faults(&packet).first().map_or("ok", |(_, fault)| fault.outcome()),
            Err(fault) => fault.outcome(),
        };
        for request in packet.requests() {
            let labels = [
                ("chain", self.inner.chain.clone()),
                ("method", request.method().to_owned()),
                ("outcome", outcome.to_owned()),
            ];
            metrics::counter!("assay_rpc_requests_total", &labels).increment(1);
        }
        trace.record("assay.outcome", outcome);
        trace.record("server.address", self.current().map(Endpoint::host));
        if answer.is_err() {
            trace.record("otel.status_code", "ERROR");
        }
        let labels = [("chain", self.inner.chain.clone()), ("method", method)];
        metrics::histogram!("assay_rpc_request_duration_seconds", &labels).record(started.elapsed());
        answer
    }

    /// Sends `packet` to the endpoints in order until one gives a final answer. An error that is not known is repeated
    /// once if no endpoint answers better.
    async fn ask_in_turn<A: Answer>(
        &self,
        packet: &Arc<RequestPacket>,
        span: Option<Span>,
    ) -> Result<(Witness, A), Fault> {
        let (attempts, mut last) = self.attempts();
        // The answer that another endpoint might improve on, used if none does.
        let mut lesser: Option<Lesser<'_, A>> = None;
        let mut refusals = Vec::new();
        for attempt in &attempts {
            if attempt.rests && lesser.as_ref().is_some_and(|lesser| !lesser.is_refused()) {
                break;
            }
            if let Some(Span { to, .. }) = span
                && let Err(fault) = self.check_reach(attempt, to).await
            {
                last = fault;
                continue;
            }
            let began = Instant::now();
            let answer = match self.ask_recorded::<A>(attempt, packet).await {
                Err(fault) if is_for_next_endpoint(packet, &fault) => {
                    last = fault;
                    continue;
                }
                answer => answer.inspect_err(|_| self.set_current(attempt.index))?,
            };
            let found = Lesser::of(attempt, answer, packet, span);
            if found.faults.is_empty() {
                refusals.iter().for_each(|refusal: &EndpointRefusal<'_>| refusal.record());
                self.set_current(attempt.index);
                return Ok((Witness(attempt.index), found.answer));
            }
            refusals.extend(found.refusal(began));
            if lesser.as_ref().is_none_or(|lesser| found.faults.len() < lesser.faults.len()) {
                lesser = Some(found);
            }
        }
        let Some(mut lesser) = lesser else { return Err(last) };
        if lesser.is_worth_repeating() && self.left_out.is_none() {
            tokio::time::sleep(wait(0)).await;
            if let Ok(again) = self.ask_recorded::<A>(lesser.attempt, packet).await {
                lesser = Lesser::of(lesser.attempt, again, packet, span);
            }
        }
        self.set_current(lesser.attempt.index);
        Ok((Witness(lesser.attempt.index), lesser.answer))
    }

    /// The endpoints that may be asked, in order, or why there are none. Those with an old head come last.
    fn attempts(&self) -> (Vec<EndpointAttempt<'_>>, Fault) {
        let left_out = self.left_out.map(|left_out| match left_out {
            LeftOut::Current => self.inner.current.load(Ordering::Relaxed),
            LeftOut::At(Witness(index)) => index,
        });
        let retries = if left_out.is_some() { 0 } else { self.inner.retries };
        attempts(&self.inner.endpoints, left_out, retries, |index| self.inner.heads.is_off(index))
    }

    /// Like [`ask`](Self::ask), and records the outcome in the endpoint's health.
    async fn ask_recorded<A: Answer>(
        &self,
        attempt: &EndpointAttempt<'_>,
        packet: &Arc<RequestPacket>,
    ) -> Result<A, Fault> {
        let endpoint = attempt.endpoint;
        let (answered, began) = (endpoint.answered(), Instant::now());
        let answer = self.ask::<A>(attempt, packet).await;
        match &answer {
            Ok(_) => endpoint.record_answer(),
            Err(_) if self.rank == Rank::Stranger => {}
            Err(fault) if fault.is_no_answer() && !is_heavy(packet, fault) => {
                // An endpoint that answered other requests in the meantime was busy, not down.
                let may_be_busy = matches!(fault, Fault::TimedOut(_) | Fault::RateLimited { .. });
                if !may_be_busy || endpoint.answered() == answered {
                    endpoint.record_failure(fault, began);
                }
            }
            Err(_) => {}
        }
        answer
    }

    /// Makes the next request begin with the endpoint at `index`, unless this is a second opinion.
    fn set_current(&self, index: usize) {
        if self.left_out.is_none() {
            self.inner.current.store(index, Ordering::Relaxed);
        }
    }

    async fn ask<A: Answer>(&self, attempt: &EndpointAttempt<'_>, packet: &Arc<RequestPacket>) -> Result<A, Fault> {
        let EndpointAttempt { endpoint, patience, .. } = *attempt;
        let most = |fault: &Fault| match fault {
            Fault::UnknownBlock if attempt.is_last && attempt.retries > 0 => pauses::LAST_ENDPOINT_RETRIES,
            Fault::UnknownBlock => attempt.retries.min(pauses::UNKNOWN_BLOCK_RETRIES),
            _ => attempt.retries,
        };
        let mut tries = 0;
        loop {
            let answer = match endpoint.check_chain().await {
                Ok(()) => endpoint.post::<A>(packet, self.rank, patience).await,
                Err(fault) => Err(fault),
            };
            let fault = match &answer {
                Ok(answer) => answer.faults(packet).into_iter().map(|(_, fault)| fault).find(Fault::is_worth_a_retry),
                Err(fault) => Some(fault.clone()),
            };
            let Some(fault) = fault else { return answer };
            if tries >= most(&fault) || !fault.is_worth_a_retry() {
                return if fault == Fault::UnknownBlock { answer } else { Err(fault) };
            }
            tokio::time::sleep(wait(tries)).await;
            tries += 1;
        }
    }
}

/// An answer with errors that another endpoint may not have.
struct Lesser<'a, A> {
    attempt: &'a EndpointAttempt<'a>,
    answer: A,
    faults: Vec<Failed>,
}

impl<'a, A: Answer> Lesser<'a, A> {
    fn of(attempt: &'a EndpointAttempt<'a>, answer: A, packet: &RequestPacket, span: Option<Span>) -> Self {
        let mut faults = answer.faults(packet);
        faults.retain(|(_, fault)| fault.is_lesser() || is_of_no_use(fault, span));
        Self { attempt, answer, faults }
    }

    fn is_refused(&self) -> bool {
        self.faults.iter().any(|(_, fault)| !matches!(fault, Fault::NoState | Fault::UnknownBlock | Fault::NoReceipt))
    }

    /// Whether a second request may change the answer. A reader of logs asks for a shorter range instead.
    fn is_worth_repeating(&self) -> bool {
        let may_change = |(method, fault): &Failed| {
            method != "eth_getLogs" && matches!(fault, Fault::Refused { code, .. } if *code != METHOD_NOT_FOUND)
        };
        self.faults.iter().any(may_change)
    }

    /// The refusal that shows a fault of the endpoint if another one answers. What a call says may be chosen by its
    /// contract, and shows nothing.
    fn refusal(&self, began: Instant) -> Option<EndpointRefusal<'a>> {
        let is_of_the_endpoint = |(method, fault): &&Failed| {
            method != "eth_call"
                && method != "eth_estimateGas"
                && match fault {
                    Fault::Refused { code, .. } => *code != METHOD_NOT_FOUND,
                    Fault::TooDense { .. } => method != "eth_getLogs",
                    fault => matches!(fault, Fault::Denied(_)),
                }
        };
        let (_, fault) = self.faults.iter().find(is_of_the_endpoint)?;
        Some(EndpointRefusal { endpoint: self.attempt.endpoint, fault: fault.clone(), began })
    }
}

/// Whether a limit does not say which smaller request is answered. An endpoint may answer so whatever it is asked.
fn is_of_no_use(fault: &Fault, span: Option<Span>) -> bool {
    match (fault, span) {
        (Fault::TooWide { limit }, Some(span)) => limit.is_none_or(|limit| limit >= span.width()),
        (Fault::TooDense { suggested }, Some(span)) => suggested.is_none_or(|part| !part.begins(span)),
        (Fault::TooDense { .. }, None) => true,
        _ => false,
    }
}

/// A request that one endpoint refused, in words that are not known.
struct EndpointRefusal<'a> {
    endpoint: &'a Arc<Endpoint>,
    fault: Fault,
    began: Instant,
}

impl EndpointRefusal<'_> {
    /// Rests the endpoint: another one answered the same request.
    fn record(&self) {
        self.endpoint.record_failure(&self.fault, self.began);
    }
}

fn is_for_next_endpoint(packet: &RequestPacket, fault: &Fault) -> bool {
    (fault.is_no_answer() || fault.is_lesser()) && !is_heavy(packet, fault)
}

/// Whether a lighter query might not time out; the reader then asks the same endpoint for less.
fn is_heavy(packet: &RequestPacket, fault: &Fault) -> bool {
    matches!(fault, Fault::TimedOut(_)) && is_of_logs(packet)
}

fn is_of_logs(packet: &RequestPacket) -> bool {
    packet.as_single().is_some_and(|request| request.method() == "eth_getLogs")
}

/// How long to wait before the retry after `attempt` earlier ones.
fn wait(attempt: u32) -> Duration {
    let whole = pauses::BACKOFF.saturating_mul(1 << attempt.min(10)).min(pauses::MAX_BACKOFF);
    let random = getrandom::u32().unwrap_or_default();
    whole.mul_f64(1.0 - 0.5 * f64::from(random) / f64::from(u32::MAX))
}

impl Service<RequestPacket> for Failover {
    type Response = ResponsePacket;
    type Error = TransportError;
    type Future = TransportFut<'static>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), TransportError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, packet: RequestPacket) -> Self::Future {
        let this = self.clone();
        Box::pin(async move {
            this.send(packet).await.map_err(|fault| RpcError::Transport(TransportErrorKind::Custom(Box::new(fault))))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_within_bounds() {
        for attempt in 0..20 {
            let wait = wait(attempt);
            assert!(wait >= pauses::BACKOFF / 2 && wait <= pauses::MAX_BACKOFF, "{wait:?}");
        }
    }
}
