//! Reading one chain: single calls, batches within what the endpoint takes, and contract calls pinned to one block.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use alloy::{
    primitives::{Bytes, U64},
    rpc::{client::RpcClient, types::Log},
};
use futures::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared, try_join_all},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::config::Endpoints;
use crate::config::RpcLimits;
use crate::{
    call::{self, Call},
    endpoint::Http,
    fault::Fault,
    logs::{LogQuery, Written},
    span::Span,
    transport::Failover,
};
use assay_domain::{Address, B256, ChainId, Time, U256, time_from_unix};

/// Contract calls in one `aggregate3`: some 60,000 gas each for the dearest, of the 50 million that nodes allow.
const CALLS_AT_ONCE: usize = 250;

/// One chain's client. Cheap to clone.
#[derive(Clone)]
pub struct Client {
    chain: ChainId,
    rpc: RpcClient,
    transport: Failover,
    multicall: Option<Address>,
    multicall_missing: Arc<AtomicBool>,
    head: Arc<Mutex<Option<WeakShared<NewestBlock>>>>,
}

/// A block as far as readers need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub number: u64,
    pub hash: B256,
    pub time: u64,
}

impl Block {
    pub fn moment(self) -> Time {
        time_from_unix(self.time)
    }
}

#[derive(Debug, Deserialize)]
struct Header {
    number: U64,
    hash: B256,
    timestamp: U64,
}

impl From<Header> for Block {
    fn from(header: Header) -> Self {
        Self { number: header.number.to(), hash: header.hash, time: header.timestamp.to() }
    }
}

/// One request of a batch.
pub type Ask = (&'static str, Value);

/// Answers to a batch that several readers asked for together. Whoever needs them first sends it.
pub type Answers = Shared<BoxFuture<'static, Result<Arc<[Result<Value, Fault>]>, Fault>>>;

type NewestBlock = BoxFuture<'static, Result<Block, Fault>>;

impl Client {
    pub fn new(http: &Http, chain: &Endpoints, limits: &RpcLimits) -> Self {
        let transport = Failover::new(http, chain, limits);
        Self {
            chain: chain.chain,
            rpc: RpcClient::new(transport.clone(), false).with_poll_interval(Duration::from_secs(1)),
            transport,
            multicall: chain.multicall,
            multicall_missing: Arc::default(),
            head: Arc::default(),
        }
    }

    /// Host of the endpoint that answered last.
    pub fn endpoint(&self) -> Option<String> {
        self.transport.current().map(|endpoint| endpoint.host().to_owned())
    }

    /// Asks the endpoints that this one does not ask now, once; `None` where there is no other.
    pub fn elsewhere(&self) -> Option<Self> {
        let transport = self.transport.elsewhere()?;
        Some(Self { rpc: RpcClient::new(transport.clone(), false), transport, ..self.clone() })
    }

    pub fn chain(&self) -> ChainId {
        self.chain
    }

    /// Widest span that logs are answered for, as far as known.
    pub fn log_ceiling(&self) -> u64 {
        self.transport.current().map_or(u64::MAX, |endpoint| endpoint.log_ceiling())
    }

    pub fn lower_log_ceiling(&self, width: u64) {
        if let Some(endpoint) = self.transport.current() {
            endpoint.lower_log_ceiling(width);
        }
    }

    /// The newest block. Who asks while another waits for the same answer has it with him; one that was given before is
    /// nobody's newest.
    ///
    /// # Errors
    /// [`Fault`]; as all reads here.
    pub async fn head(&self) -> Result<Block, Fault> {
        let asked = {
            let mut asked = self.head.lock().unwrap_or_else(PoisonError::into_inner);
            // What nobody waits for any more is gone.
            let waited_for = asked.as_ref().and_then(WeakShared::upgrade).filter(|asked| asked.peek().is_none());
            waited_for.unwrap_or_else(|| {
                let client = self.clone();
                let anew = async move { client.ask_head().await }.boxed().shared();
                *asked = anew.downgrade();
                anew
            })
        };
        asked.await
    }

    async fn ask_head(&self) -> Result<Block, Fault> {
        let header: Option<Header> = self.rpc.request("eth_getBlockByNumber", ("latest", false)).await?;
        header.map(Block::from).ok_or_else(|| Fault::Malformed("no latest block".into()))
    }

    /// The blocks of these numbers; `None` for one that does not exist.
    pub async fn blocks(&self, numbers: &[u64]) -> Result<Vec<Option<Block>>, Fault> {
        let answers = self.batch(numbers.iter().map(|number| ask_block(*number)).collect()).await?;
        answers.into_iter().map(|answer| block_from(answer?)).collect()
    }

    /// The block of this number; `None` where it does not exist.
    pub async fn block(&self, number: u64) -> Result<Option<Block>, Fault> {
        Ok(self.blocks(&[number]).await?.into_iter().next().flatten())
    }

    /// Logs as the endpoint gave them, not yet checked.
    pub async fn logs(&self, query: &LogQuery, span: Span) -> Result<Vec<Log>, Fault> {
        let logs: Vec<Written> = self.rpc.request("eth_getLogs", (query.filter(span),)).await?;
        logs.into_iter().map(Log::try_from).collect()
    }

    /// Calls of contracts in the state after block `at`, in the order of `calls`; `None` for one that was reverted.
    pub async fn calls(&self, calls: &[Call], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
        if let Some(multicall) = self.multicall.filter(|_| !self.multicall_missing.load(Ordering::Relaxed)) {
            let parts = calls.chunks(CALLS_AT_ONCE).map(|part| self.aggregate(multicall, part, at));
            let answers: Option<Vec<_>> = try_join_all(parts).await?.into_iter().collect();
            if let Some(answers) = answers {
                return Ok(answers.into_iter().flatten().collect());
            }
            if !self.multicall_missing.swap(true, Ordering::Relaxed) {
                tracing::warn!(chain = self.chain, contract = %multicall, "no Multicall3 at chains.multicall; calls are batched instead");
            }
        }
        let answers = self.batch(calls.iter().map(|call| call.ask(pinned(at))).collect()).await?;
        calls.iter().zip(answers).map(|(call, answer)| call.answered(answer)).collect()
    }

    /// What contracts keep at places of their storage, in the state after block `at`; `None` where the endpoint does
    /// not tell.
    pub async fn storage(&self, places: &[(Address, U256)], at: B256) -> Vec<Option<U256>> {
        let asks = places.iter().map(|(contract, place)| ("eth_getStorageAt", json!([contract, place, pinned(at)])));
        let told = |answer: Result<Value, Fault>| serde_json::from_value::<B256>(answer.ok()?).ok().map(Into::into);
        match self.batch(asks.collect()).await {
            Ok(answers) => answers.into_iter().map(told).collect(),
            Err(fault) => {
                tracing::debug!(chain = self.chain, %fault, "storage cannot be read");
                vec![None; places.len()]
            }
        }
    }

    /// One call in the state after block `at`. What a contract reverts with is an answer too, and the only one where it
    /// refers elsewhere.
    pub async fn attempt(&self, to: Address, data: &Bytes, at: B256) -> Result<Result<Bytes, Bytes>, Fault> {
        let (method, params) = Call::Contract { to, data: data.clone() }.ask(pinned(at));
        let error = match self.rpc.request::<_, Bytes>(method, params).await {
            Ok(answer) => return Ok(Ok(answer)),
            Err(error) => error,
        };
        if let Some(why) = error.as_error_resp().and_then(call::reverted_with) {
            return Ok(Err(why));
        }
        let fault = Fault::from(error);
        if call::reverted(&fault) { Ok(Err(Bytes::new())) } else { Err(fault) }
    }

    /// `None` where there is no Multicall3 contract at `multicall`.
    async fn aggregate(
        &self,
        multicall: Address,
        calls: &[Call],
        at: B256,
    ) -> Result<Option<Vec<Option<Bytes>>>, Fault> {
        let request = json!({ "to": multicall, "data": call::aggregate(multicall, calls) });
        let answer: Bytes = self.rpc.request("eth_call", (request, pinned(at))).await?;
        if answer.is_empty() { Ok(None) } else { call::aggregated(&answer, calls.len()).map(Some) }
    }

    /// Asks everything in as few round trips as the endpoint allows. Answers stand in the order of `asks`.
    pub async fn batch(&self, asks: Vec<Ask>) -> Result<Vec<Result<Value, Fault>>, Fault> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut rest = asks.as_slice();
        while !rest.is_empty() {
            let ceiling = self.transport.current().map_or(1, |endpoint| endpoint.batch_ceiling());
            let (part, after) = rest.split_at(ceiling.min(rest.len()));
            match self.batch_once(part).await {
                Ok(part) => answers.extend(part),
                // Some endpoints take fewer calls at once, some take one: not every refusal says so in words.
                Err(Fault::Refused { .. } | Fault::TooDense { .. } | Fault::TooWide { .. }) if part.len() > 1 => {
                    if let Some(endpoint) = self.transport.current() {
                        endpoint.lower_batch_ceiling(part.len() / 2);
                    }
                    continue;
                }
                Err(fault) => return Err(fault),
            }
            rest = after;
        }
        Ok(answers)
    }

    /// As [`batch`](Self::batch), for several readers.
    pub fn together(&self, asks: Vec<Ask>) -> Answers {
        let client = self.clone();
        async move { client.batch(asks).await.map(Arc::from) }.boxed().shared()
    }

    async fn batch_once(&self, asks: &[Ask]) -> Result<Vec<Result<Value, Fault>>, Fault> {
        if let [(method, params)] = asks {
            return match self.rpc.request::<_, Value>(*method, params.clone()).await.map_err(Fault::from) {
                Err(fault) if fault.moves_on() => Err(fault),
                answer => Ok(vec![answer]),
            };
        }
        let mut batch = self.rpc.new_batch();
        let waiters = asks
            .iter()
            .map(|(method, params)| batch.add_call::<_, Value>(*method, params))
            .collect::<Result<Vec<_>, _>>()?;
        batch.send().await?;
        Ok(futures::future::join_all(waiters).await.into_iter().map(|answer| answer.map_err(Fault::from)).collect())
    }
}

/// Asks for a block by number, without its transactions.
pub fn ask_block(number: u64) -> Ask {
    ("eth_getBlockByNumber", json!([hex(number), false]))
}

/// The answer to [`ask_block`].
pub fn block_from(answer: Value) -> Result<Option<Block>, Fault> {
    let header: Option<Header> = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    Ok(header.map(Block::from))
}

/// A JSON-RPC quantity as a number.
pub fn quantity(answer: Value) -> Result<u64, Fault> {
    let number: U256 = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
    u64::try_from(number).map_err(|error| Fault::Malformed(error.to_string()))
}

/// Block parameter for the state after one block, also where a sibling has taken its place.
pub fn pinned(block: B256) -> Value {
    json!({ "blockHash": block })
}

/// A number as JSON-RPC writes it.
pub fn hex(number: u64) -> String {
    format!("{number:#x}")
}
