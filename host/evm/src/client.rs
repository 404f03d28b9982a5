//! The client of one chain: the newest block, batches within the limits of the endpoint, logs, and contract calls
//! pinned to one block.

mod batch;
mod gather;
mod sharing;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use alloy::{
    primitives::Bytes,
    rpc::{
        client::RpcClient,
        json_rpc::{Response, ResponsePayload},
        types::Log,
    },
};
use futures::future::try_join_all;
use serde_json::{Value, json};

use crate::{
    call::{self, Call},
    config::{Endpoints, RpcLimits},
    endpoint::{Endpoint, EndpointStatus, Http},
    fault::Fault,
    logs::{LogQuery, Receipt, Received, answers},
    single_flight::SingleFlight,
    span::Span,
    transport::Failover,
};
use assay_domain::{Address, B256, ChainId, U256};

pub use batch::Answers;
pub use sharing::{Series, Sharing};

pub use crate::request::{Ask, Block, ask_block, block_from, hex, pinned, quantity};

/// Contract calls in one `aggregate3`. The most expensive take about 60,000 gas each; nodes allow 50 million per call.
const CALLS_AT_ONCE: usize = 250;

/// One chain's client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    chain: ChainId,
    rpc: RpcClient,
    transport: Failover,
    multicall: Option<Address>,
    multicall_missing: Arc<AtomicBool>,
    head: SingleFlight<(), Result<Block, Fault>>,
    shared: Arc<sharing::Shared>,
}

impl Client {
    pub fn new(http: &Http, chain: &Endpoints, limits: &RpcLimits) -> Self {
        let transport = Failover::new(http, chain, limits);
        Self {
            chain: chain.chain,
            rpc: RpcClient::new(transport.clone(), false).with_poll_interval(Duration::from_secs(1)),
            transport,
            multicall: chain.multicall,
            multicall_missing: Arc::default(),
            head: SingleFlight::default(),
            shared: Arc::default(),
        }
    }

    /// Host of the endpoint that answered last.
    pub fn endpoint(&self) -> Option<String> {
        self.transport.current().map(|endpoint| endpoint.host().to_owned())
    }

    /// What is known of each endpoint, in the order of the configuration.
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        self.transport.endpoints()
    }

    /// A client of the endpoints other than the current one, without retries; `None` if there is no other.
    pub fn other_endpoints(&self) -> Option<Self> {
        let transport = self.transport.other_endpoints()?;
        let rpc = RpcClient::new(transport.clone(), false);
        Some(Self { rpc, transport, shared: Arc::default(), ..self.clone() })
    }

    /// A client whose requests wait until nobody else has one.
    #[must_use]
    pub fn behind(&self) -> Self {
        let transport = self.transport.behind();
        let rpc = RpcClient::new(transport.clone(), false);
        Self { rpc, transport, shared: Arc::default(), ..self.clone() }
    }

    /// A client that makes each contract call by itself.
    #[must_use]
    pub fn without_multicall(&self) -> Self {
        Self { multicall: None, ..self.clone() }
    }

    /// Tries endpoints that rest after a failure, and puts them back into use. Does not end: a task of the chain runs
    /// it.
    pub async fn watch(&self) {
        self.transport.watch().await;
    }

    /// Whether the current endpoint has a limit of rate, as far as known.
    pub fn is_paced(&self) -> bool {
        self.transport.current().is_some_and(Endpoint::is_paced)
    }

    /// The requests or calls a second that the current endpoint takes, as far as known; `None` without a limit.
    pub fn rate(&self) -> Option<f64> {
        self.transport.current().and_then(Endpoint::rate)
    }

    /// The calls a second that the current endpoint takes, if each call of a batch counts; `None` if no such
    /// limit is known.
    pub fn call_rate(&self) -> Option<f64> {
        self.transport.current().and_then(Endpoint::call_rate)
    }

    pub fn chain(&self) -> ChainId {
        self.chain
    }

    /// The widest span of blocks for which the current endpoint answers logs, as far as known.
    pub fn log_ceiling(&self) -> u64 {
        self.transport.current().map_or(u64::MAX, |endpoint| endpoint.log_ceiling())
    }

    pub fn lower_log_ceiling(&self, width: u64) {
        if let Some(endpoint) = self.transport.current() {
            endpoint.lower_log_ceiling(width);
        }
    }

    /// Number of answers of all endpoints so far.
    pub fn answered(&self) -> u64 {
        self.transport.answered()
    }

    /// How long all endpoints still rest after failures; `None` while one may be used.
    pub fn rest(&self) -> Option<Duration> {
        self.transport.rest()
    }

    /// The newest block. Concurrent callers share a request; results are not reused. An endpoint that is far behind the
    /// newest block seen answers only if no other endpoint does.
    ///
    /// # Errors
    /// [`Fault`]; as all reads here.
    pub async fn head(&self) -> Result<Block, Fault> {
        let ask = || {
            let client = self.clone();
            (async move { client.transport.head().await }, ())
        };
        self.head.join((), ask).outcome.await
    }

    /// The newest block that was seen, if `head` is far behind it.
    pub fn newer_than(&self, head: Block) -> Option<Block> {
        self.transport.newer_than(head)
    }

    /// Adds what an earlier process saw of the chain: its newest head, and an early block.
    pub fn remember(&self, newest: Block, early: Option<Block>) {
        self.transport.remember(newest, early);
    }

    /// The newest head seen.
    pub fn newest(&self) -> Option<Block> {
        self.transport.newest()
    }

    /// The early block of the chain, if it is known.
    pub fn early(&self) -> Option<Block> {
        self.transport.early()
    }

    /// Whether an endpoint with this head, from which a block that was seen before is missing, is only behind: it has
    /// the early block of the chain. Otherwise the chain was replaced, or that is not known: one whose heads are not
    /// compared with a clock may be a local one, which can be set back.
    pub async fn is_behind(&self, head: Block) -> Result<bool, Fault> {
        let early = self.early().filter(|early| self.transport.compares_heads() && early.number <= head.number);
        let Some(early) = early else { return Ok(false) };
        let there = self.block(early.number).await?.ok_or(Fault::UnknownBlock)?;
        if there.hash != early.hash {
            self.transport.forget_blocks();
        }
        Ok(there.hash == early.hash)
    }

    /// The blocks of these numbers; `None` for one that does not exist.
    pub async fn blocks(&self, numbers: &[u64]) -> Result<Vec<Option<Block>>, Fault> {
        let answers = self.shared_batch(numbers.iter().map(|number| ask_block(*number)).collect()).await?;
        answers.into_iter().map(|answer| block_from(answer?)).collect()
    }

    /// The block of this number; `None` if it does not exist.
    pub async fn block(&self, number: u64) -> Result<Option<Block>, Fault> {
        Ok(self.blocks(&[number]).await?.into_iter().next().flatten())
    }

    /// The receipts of `transactions`, in their order; `None` if the endpoint has none.
    pub async fn receipts(&self, transactions: &[B256]) -> Result<Vec<Option<Receipt>>, Fault> {
        let answers = self.batch(transactions.iter().copied().map(Receipt::ask).collect()).await?;
        transactions.iter().zip(answers).map(|(transaction, answer)| Receipt::read(*transaction, answer?)).collect()
    }

    /// The logs as the endpoint returned them, not yet checked.
    pub async fn logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        let request = self.rpc.make_request("eth_getLogs", (query.filter(span),));
        let request = request.serialize().map_err(|error| Fault::Malformed(error.to_string()))?;
        // Boxed, so that each waiting read stays small: thousands wait at once.
        let sent = self.transport.send_after::<Response<Vec<Received>>>(request.into(), Some(span.to));
        match Box::pin(sent).await?.1.payload {
            ResponsePayload::Success(logs) => Ok(logs.into_iter().map(|Received(log)| log).collect()),
            ResponsePayload::Failure(error) => Err(Fault::from_payload(&error)),
        }
    }

    /// The logs of `span` that answer `query`, in a request that the reads of a batch share.
    ///
    /// # Errors
    /// [`Fault`], also if logs are of a block that is not in the chain.
    pub async fn believed_logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        self.shared_logs(query, span).await
    }

    /// As [`believed_logs`](Self::believed_logs), in a request of its own.
    async fn own_logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        let mut logs = self.logs(query, span).await?;
        // To drop these would settle a history without them; the next read may find them in a block that remains.
        if logs.iter().any(|log| log.removed || log.block_hash.is_none()) {
            return Err(Fault::Malformed("logs of a block that is not in the chain".into()));
        }
        let received = logs.len();
        logs.retain(|log| answers(log, query, span));
        let refused = received - logs.len();
        if refused > 0 {
            let chain = self.chain;
            metrics::counter!("assay_logs_refused_total", "chain" => chain.to_string()).increment(refused as u64);
            tracing::warn!(chain, refused, "endpoint gave logs that were not asked for; they are not counted");
        }
        Ok(logs)
    }

    /// The results of `calls` in the state after block `at`, in their order; `None` for a call that reverted.
    pub async fn calls(&self, calls: &[Call], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
        self.calls_after(calls, pinned(at)).await
    }

    /// As [`calls`](Self::calls), in the state after the newest block.
    pub async fn latest_calls(&self, calls: &[Call]) -> Result<Vec<Option<Bytes>>, Fault> {
        self.calls_after(calls, json!("latest")).await
    }

    async fn calls_after(&self, calls: &[Call], block: Value) -> Result<Vec<Option<Bytes>>, Fault> {
        if let Some(multicall) = self.multicall.filter(|_| !self.multicall_missing.load(Ordering::Relaxed)) {
            let parts = calls.chunks(CALLS_AT_ONCE).map(|part| self.aggregate(multicall, part, &block));
            let answers: Option<Vec<_>> = try_join_all(parts).await?.into_iter().collect();
            if let Some(answers) = answers {
                return Ok(answers.into_iter().flatten().collect());
            }
            if !self.multicall_missing.swap(true, Ordering::Relaxed) {
                tracing::warn!(chain = self.chain, contract = %multicall, "no Multicall3 at chains.multicall; calls are batched instead");
            }
        }
        let answers = self.batch(calls.iter().map(|call| call.ask(block.clone())).collect()).await?;
        calls.iter().zip(answers).map(|(call, answer)| call.answered(answer)).collect()
    }

    /// Storage slots of contracts in the state after block `at`; `None` if the endpoint does not return one.
    pub async fn storage(&self, slots: &[(Address, U256)], at: B256) -> Vec<Option<U256>> {
        let asks = slots.iter().map(|(contract, slot)| ("eth_getStorageAt", json!([contract, slot, pinned(at)])));
        let value = |answer: Result<Value, Fault>| serde_json::from_value::<B256>(answer.ok()?).ok().map(Into::into);
        match self.shared_batch(asks.collect()).await {
            Ok(answers) => answers.into_iter().map(value).collect(),
            Err(fault) => {
                tracing::debug!(chain = self.chain, %fault, "storage cannot be read");
                vec![None; slots.len()]
            }
        }
    }

    /// One call in the state after block `at`: what it returned, or else the data with which it reverted. A contract
    /// that refers to an off-chain gateway says so in that data.
    pub async fn attempt(&self, to: Address, data: &Bytes, at: B256) -> Result<Result<Bytes, Bytes>, Fault> {
        let (method, params) = Call::Contract { to, data: data.clone() }.ask(pinned(at));
        let error = match self.rpc.request::<_, Bytes>(method, params).await {
            Ok(answer) => return Ok(Ok(answer)),
            Err(error) => error,
        };
        if let Some(data) = error.as_error_resp().and_then(call::revert_data) {
            return Ok(Err(data));
        }
        let fault = Fault::from(error);
        if call::reverted(&fault) { Ok(Err(Bytes::new())) } else { Err(fault) }
    }

    /// `None` if there is no Multicall3 contract at `multicall`.
    async fn aggregate(
        &self,
        multicall: Address,
        calls: &[Call],
        block: &Value,
    ) -> Result<Option<Vec<Option<Bytes>>>, Fault> {
        let request = json!({ "to": multicall, "data": call::aggregate(multicall, calls) });
        let answer: Bytes = self.rpc.request("eth_call", (request, block)).await?;
        if answer.is_empty() { Ok(None) } else { call::aggregated(&answer, calls.len()).map(Some) }
    }
}
