//! The client of one chain: the newest block, batches within the limits of the endpoint, logs, and contract calls
//! pinned to one block.

mod batch;
mod code;
mod disputed;
mod gather;
mod proven;
mod reverts;
mod sharing;
mod standing;
mod strangers;

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
    failover::{Failover, Witness},
    fault::Fault,
    limits,
    logs::{Ceiling, LogQuery, Receipt, Received, answers},
    single_flight::SingleFlight,
    span::Span,
};
use assay_domain::{Address, B256, ChainId, U256};
use reverts::Reverts;

pub use batch::Answers;
pub use proven::ProvenTransaction;
pub use sharing::{Series, Sharing};
pub use standing::Standing;
pub use strangers::{Bounds, PROOF_GAS};

pub use crate::{
    anchors::Anchors,
    request::{Ask, Block, ask_block, block_from, hex, pinned, quantity},
};

/// Logs, and the endpoint that gave them.
#[derive(Debug, Clone)]
pub struct WitnessedLogs {
    pub logs: Vec<Log>,
    pub witness: Witness,
}

/// One chain's client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    chain: ChainId,
    rpc: RpcClient,
    transport: Failover,
    multicall: Option<Address>,
    multicall_missing: Arc<AtomicBool>,
    head: SingleFlight<(), Result<Block, Fault>>,
    shared: Arc<sharing::SharedBatch>,
    creation: Arc<strangers::Creation>,
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
            creation: Arc::default(),
        }
    }

    /// The host of the endpoint that answered last.
    pub fn endpoint(&self) -> Option<String> {
        self.transport.current().map(|endpoint| endpoint.host().to_owned())
    }

    /// The status of each endpoint, in configuration order.
    pub fn endpoints(&self) -> Vec<EndpointStatus> {
        self.transport.endpoints()
    }

    /// A client of the endpoints other than the current one, without retries; `None` if there is no other.
    pub fn other_endpoints(&self) -> Option<Self> {
        Some(self.over(self.transport.other_endpoints()?))
    }

    /// A client of the endpoints other than `witness`, without retries; `None` if there is no other.
    pub fn besides(&self, witness: Witness) -> Option<Self> {
        Some(self.over(self.transport.besides(witness)?))
    }

    /// The same client with another choice of endpoints. It shares no requests with this one.
    fn over(&self, transport: Failover) -> Self {
        let rpc = RpcClient::new(transport.clone(), false);
        Self { rpc, transport, shared: Arc::default(), ..self.clone() }
    }

    /// A client whose requests wait until no other request is waiting.
    #[must_use]
    pub fn behind(&self) -> Self {
        self.over(self.transport.behind())
    }

    /// A client that sends each contract call separately.
    #[must_use]
    pub fn without_multicall(&self) -> Self {
        Self { multicall: None, ..self.clone() }
    }

    /// Tries resting endpoints, and puts them back into use. Runs forever, as a task of the chain.
    pub async fn watch(&self) {
        self.transport.watch().await;
    }

    /// Whether the current endpoint has a known rate limit.
    pub fn is_paced(&self) -> bool {
        self.transport.current().is_some_and(Endpoint::is_paced)
    }

    /// The requests or calls per second that the current endpoint accepts; `None` without a known limit.
    pub fn rate(&self) -> Option<f64> {
        self.transport.current().and_then(Endpoint::rate)
    }

    /// The calls per second that the current endpoint accepts, if each call of a batch counts; `None` without such a
    /// known limit.
    pub fn call_rate(&self) -> Option<f64> {
        self.transport.current().and_then(Endpoint::call_rate)
    }

    pub fn chain(&self) -> ChainId {
        self.chain
    }

    /// The widest span of blocks for which the current endpoint is known to answer logs.
    pub fn log_ceiling(&self) -> u64 {
        self.transport.current().map_or(u64::MAX, |endpoint| endpoint.log_ceiling())
    }

    pub fn lower_log_ceiling(&self, ceiling: Ceiling) {
        if let Some(endpoint) = self.transport.current() {
            endpoint.lower_log_ceiling(ceiling);
        }
    }

    /// The number of answers of all endpoints so far.
    pub fn answered(&self) -> u64 {
        self.transport.answered()
    }

    /// How long all endpoints still rest after failures; `None` while one is usable.
    pub fn rest(&self) -> Option<Duration> {
        self.transport.rest()
    }

    /// The newest block. Concurrent callers share a request; results are not reused. An endpoint that is far behind the
    /// newest block seen answers only if no other endpoint does.
    ///
    /// # Errors
    /// [`Fault`], like all reads here.
    pub async fn head(&self) -> Result<Block, Fault> {
        let ask = || {
            let client = self.clone();
            (async move { client.transport.head().await }, ())
        };
        self.head.join((), ask).outcome.await
    }

    /// The newest block seen, if `head` is far behind it.
    pub fn newer_than(&self, head: Block) -> Option<Block> {
        self.transport.newer_than(head)
    }

    /// Adds the blocks that an earlier process saw: the newest head, and an early block.
    pub fn remember(&self, newest: Block, early: Option<Block>) {
        self.transport.remember(newest, early);
    }

    /// The newest head seen.
    pub fn newest(&self) -> Option<Block> {
        self.transport.newest()
    }

    /// The early block of the chain, if known.
    pub fn early(&self) -> Option<Block> {
        self.transport.early()
    }

    /// Whether an endpoint with this head, which lacks a block seen before, is only behind: it has the early block of
    /// the chain. Otherwise the chain was replaced, or this is unknown: without a comparison of heads with a clock, the
    /// chain may be a local one that was reset.
    pub async fn is_behind(&self, head: Block) -> Result<bool, Fault> {
        let early = self.early().filter(|early| self.transport.compares_heads() && early.number <= head.number);
        let Some(early) = early else { return Ok(false) };
        let there = self.block(early.number).await?.ok_or(Fault::UnknownBlock)?;
        if there.hash != early.hash {
            self.transport.forget_blocks();
        }
        Ok(there.hash == early.hash)
    }

    /// The blocks with these numbers; `None` for one that does not exist.
    pub async fn blocks(&self, numbers: &[u64]) -> Result<Vec<Option<Block>>, Fault> {
        let answers = self.shared_batch(numbers.iter().map(|number| ask_block(*number)).collect()).await?;
        answers.into_iter().map(|answer| block_from(answer?)).collect()
    }

    /// The block with this number; `None` if it does not exist.
    pub async fn block(&self, number: u64) -> Result<Option<Block>, Fault> {
        Ok(self.blocks(&[number]).await?.into_iter().next().flatten())
    }

    /// The receipts of `transactions`, in the same order; `None` if the endpoint has none.
    pub async fn receipts(&self, transactions: &[B256]) -> Result<Vec<Option<Receipt>>, Fault> {
        let answers = self.batch(transactions.iter().copied().map(Receipt::ask).collect()).await?;
        transactions.iter().zip(answers).map(|(transaction, answer)| Receipt::read(*transaction, answer?)).collect()
    }

    /// The logs as returned by the endpoint, not yet checked.
    pub async fn logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        Ok(self.unchecked_logs(query, span).await?.logs)
    }

    async fn unchecked_logs(&self, query: &LogQuery, span: Span) -> Result<WitnessedLogs, Fault> {
        let request = self.rpc.make_request("eth_getLogs", (query.filter(span),));
        let request = request.serialize().map_err(|error| Fault::Malformed(error.to_string()))?;
        // Boxed, which keeps each waiting read small: thousands wait at once.
        let sent = self.transport.send_with_witness::<Response<Vec<Received>>>(request.into(), Some(span));
        let (witness, answer) = Box::pin(sent).await?;
        match answer.payload {
            ResponsePayload::Success(logs) => {
                if let Some(endpoint) = self.transport.endpoint(witness) {
                    endpoint.answered_logs(span.width());
                }
                Ok(WitnessedLogs { logs: logs.into_iter().map(|Received(log)| log).collect(), witness })
            }
            ResponsePayload::Failure(error) => Err(Fault::of("eth_getLogs", &error)),
        }
    }

    /// The logs of `span` that answer `query`. The reads of a batch share a request.
    ///
    /// # Errors
    /// [`Fault`], including for logs of a block that is not in the chain.
    pub async fn believed_logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        Ok(self.witnessed_logs(query, span).await?.logs)
    }

    /// Like [`believed_logs`](Self::believed_logs), with the endpoint that answered.
    ///
    /// # Errors
    /// Those of [`believed_logs`](Self::believed_logs).
    pub async fn witnessed_logs(&self, query: &LogQuery, span: Span) -> Result<WitnessedLogs, Fault> {
        self.shared_logs(query, span).await
    }

    /// Like [`witnessed_logs`](Self::witnessed_logs), in a separate request.
    async fn own_logs(&self, query: &LogQuery, span: Span) -> Result<WitnessedLogs, Fault> {
        let WitnessedLogs { mut logs, witness } = self.unchecked_logs(query, span).await?;
        // Dropping these would settle a history without them; the next read may find them in a block that remains.
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
        Ok(WitnessedLogs { logs, witness })
    }

    /// The results of `calls` in the state after block `at`, in the same order; `None` for a call that reverted.
    pub async fn calls(&self, calls: &[Call], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
        self.calls_after(calls, pinned(at)).await
    }

    /// Like [`calls`](Self::calls), in the state after the newest block.
    pub async fn latest_calls(&self, calls: &[Call]) -> Result<Vec<Option<Bytes>>, Fault> {
        self.calls_after(calls, json!("latest")).await
    }

    async fn calls_after(&self, calls: &[Call], block: Value) -> Result<Vec<Option<Bytes>>, Fault> {
        if let Some(multicall) = self.multicall.filter(|_| !self.multicall_missing.load(Ordering::Relaxed)) {
            let parts = calls.chunks(limits::CALLS_PER_MULTICALL).map(|part| self.aggregate(multicall, part, &block));
            let answers: Option<Vec<_>> = try_join_all(parts).await?.into_iter().collect();
            if let Some(answers) = answers {
                return Ok(answers.into_iter().flatten().collect());
            }
            if !self.multicall_missing.swap(true, Ordering::Relaxed) {
                tracing::warn!(chain = self.chain, contract = %multicall, "no Multicall3 at chains.multicall; calls \
                                                                           are batched instead");
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

    /// One call in the state after block `at`: the returned data, or the data with which it reverted, which is empty if
    /// neither of two endpoints gives it.
    pub async fn attempt(&self, to: Address, data: &Bytes, at: B256) -> Result<Result<Bytes, Bytes>, Fault> {
        self.answer_or_revert(Call::Contract { to, data: data.clone() }.ask(pinned(at))).await
    }

    async fn answer_or_revert(&self, (method, params): Ask) -> Result<Result<Bytes, Bytes>, Fault> {
        match self.single_calls().request::<_, Bytes>(method, params).await {
            Ok(answer) => Ok(Ok(answer)),
            Err(error) => call::revert(error).map(Err),
        }
    }

    fn single_calls(&self) -> RpcClient {
        RpcClient::new(Reverts(self.transport.clone()), false)
    }

    /// `None` if there is no Multicall3 contract at `multicall`.
    async fn aggregate(
        &self,
        multicall: Address,
        calls: &[Call],
        block: &Value,
    ) -> Result<Option<Vec<Option<Bytes>>>, Fault> {
        let request = json!({ "to": multicall, "data": call::aggregate(multicall, calls) });
        let answer = self.rpc.request::<_, Bytes>("eth_call", (request, block)).await;
        let answer = answer.map_err(|error| Fault::of_transport("eth_call", error))?;
        if answer.is_empty() { Ok(None) } else { call::aggregated(&answer, calls.len()).map(Some) }
    }
}
