//! Calls of contracts that strangers chose: tokens that somebody sent to a wallet, pools, oracles of markets that
//! anybody can create, resolvers of names, accounts that sign. Each call has a limit of gas and of answer size. Their
//! cost and their failures change nothing for others: not the pace, the health or a learned limit of an endpoint, and
//! no request that readers share.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use alloy::{primitives::Bytes, providers::RootProvider, rpc::client::RpcClient};
use futures::{FutureExt, future::BoxFuture, future::try_join_all};
use serde_json::{Value, json};

use super::Client;
use crate::{
    bounded::{self, Bounded, CallOutcome, REQUEST_GAS},
    call::Call,
    endpoint::Endpoint,
    fault::Fault,
    limits,
    request::{Ask, hex, pinned},
};
use assay_domain::{Address, B256};

/// How long calls are separate after an endpoint refused to run creation code.
const SEPARATE_FOR: Duration = Duration::from_secs(600);
/// Gas of a call that may check a proof or a signature. A gateway's answer with storage proofs costs 1 to 10 million to
/// check, a signature of a passkey half a million.
pub const PROOF_GAS: u64 = 12_000_000;

/// The limits of a call of a contract that a stranger chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub gas: u32,
    /// Maximum size of the answer, in bytes.
    pub answer: u16,
}

impl Bounds {
    /// For balances and pools. The balance of a token that grows by itself behind two proxies costs 60,000; eight times
    /// that leaves room for stranger ones.
    pub const TOKEN: Self = Self { gas: 500_000, answer: 1_024 };
    /// For constants that a contract states about itself, such as its name: a few storage slots behind a proxy.
    pub const CONSTANT: Self = Self { gas: 150_000, answer: 1_024 };
    /// For oracles and rates. The price of a share of a vault adds up the vault's markets, up to 30 of about 60,000.
    pub const ORACLE: Self = Self { gas: 4_000_000, answer: 32 };

    /// For what a vault states of an account: the prices of up to ten collaterals.
    pub const ACCOUNT: Self = Self { gas: 8_000_000, answer: 64 };

    /// The call within these limits; `None` for a balance, which is no contract's.
    fn of(self, call: &Call) -> Option<Bounded> {
        let Call::Contract { to, data } = call else { return None };
        Some(Bounded { to: *to, data: data.clone(), gas: self.gas, most: self.answer })
    }
}

/// Whether the endpoints run creation code.
#[derive(Default)]
pub(super) struct Creation(Mutex<Option<Instant>>);

impl Creation {
    fn works(&self) -> bool {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_none_or(|at| at.elapsed() >= SEPARATE_FOR)
    }

    fn refused(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

/// Calls in a row, and the place of the first among all.
#[derive(Clone, Copy)]
struct StrangerRun<'a> {
    first: usize,
    calls: &'a [Bounded],
}

impl Client {
    /// The results of `calls`, each with its limits, in the state after block `at`; `None` for a call that failed,
    /// reached a limit, or is not a contract's.
    ///
    /// # Errors
    /// [`Fault`] if the endpoint did not answer, which no contract can cause.
    pub async fn stranger_calls(&self, calls: &[(Call, Bounds)], at: B256) -> Result<Vec<Option<Bytes>>, Fault> {
        let client = self.of_strangers();
        let bounded: Vec<Option<Bounded>> = calls.iter().map(|(call, bounds)| bounds.of(call)).collect();
        let mut outcomes =
            client.outcomes(&bounded.iter().flatten().cloned().collect::<Vec<_>>(), at).await?.into_iter();
        let answers = bounded.into_iter().map(|call| match call.and_then(|_| outcomes.next()) {
            Some(CallOutcome::Returned(data)) => Some(data),
            Some(CallOutcome::Reverted(_) | CallOutcome::TooLong) | None => None,
        });
        Ok(answers.collect())
    }

    /// Like [`attempt`](Self::attempt), of a contract that a stranger chose and that may check a proof or a signature.
    /// An answer above the limit counts as a revert without data.
    pub async fn stranger_attempt(&self, to: Address, data: &Bytes, at: B256) -> Result<Result<Bytes, Bytes>, Fault> {
        let request = json!({ "to": to, "data": data, "gas": hex(PROOF_GAS) });
        match self.of_strangers().answer_or_revert(("eth_call", json!([request, pinned(at)]))).await {
            Err(Fault::TooDense { .. }) => Ok(Err(Bytes::new())),
            answer => answer,
        }
    }

    /// A provider for calls of contracts that strangers chose. It reports reverts as [`attempt`](Self::attempt) does;
    /// [`call::revert`](crate::call::revert) reads its errors. Requests should have [`PROOF_GAS`].
    pub fn stranger_provider(&self) -> RootProvider {
        RootProvider::new(self.of_strangers().single_calls())
    }

    /// A client of the same endpoints whose failures are not recorded, with a bound on the size of an answer. It shares
    /// no requests.
    fn of_strangers(&self) -> Self {
        let transport = self.transport.of_strangers();
        let rpc = RpcClient::new(transport.clone(), false);
        Self { rpc, transport, shared: Arc::default(), ..self.clone() }
    }

    async fn outcomes(&self, calls: &[Bounded], at: B256) -> Result<Vec<CallOutcome>, Fault> {
        if calls.is_empty() || !self.creation.works() {
            return self.separately(calls, at).await;
        }
        match self.together_within(calls, at).await {
            Ok(Some(outcomes)) => return Ok(outcomes),
            Ok(None) | Err(Fault::Refused { .. } | Fault::Reverted { .. } | Fault::Malformed(_)) => {}
            Err(fault) => return Err(fault),
        }
        // Only an endpoint that answers otherwise has refused the code.
        let outcomes = self.separately(calls, at).await?;
        tracing::info!(
            chain = self.chain,
            "endpoint runs no creation code; contracts of strangers are called one by one"
        );
        self.creation.refused();
        Ok(outcomes)
    }

    /// Makes `calls` in as few requests as possible. If contracts use so much gas that a request ends early, the rest
    /// is split so that each request has room for all of its calls. `None` if the endpoint does not run the code.
    async fn together_within(&self, calls: &[Bounded], at: B256) -> Result<Option<Vec<CallOutcome>>, Fault> {
        let mut outcomes: Vec<Option<CallOutcome>> = vec![None; calls.len()];
        let mut open = vec![StrangerRun { first: 0, calls }];
        for surely in [false, true] {
            let runs: Vec<StrangerRun<'_>> = open.iter().flat_map(|run| split(*run, surely)).collect();
            let sent = runs.chunks(limits::STRANGER_BATCH).map(|part| self.sent(part, at));
            let Some(answers) = try_join_all(sent).await?.into_iter().collect::<Option<Vec<_>>>() else {
                return Ok(None);
            };
            open.clear();
            for (run, answered) in runs.iter().zip(answers.into_iter().flatten()) {
                let rest = StrangerRun {
                    first: run.first + answered.len(),
                    calls: run.calls.get(answered.len()..).unwrap_or_default(),
                };
                outcomes.iter_mut().skip(run.first).zip(answered).for_each(|(place, outcome)| *place = Some(outcome));
                open.extend(Some(rest).filter(|rest| !rest.calls.is_empty()));
            }
            if open.is_empty() {
                break;
            }
        }
        // The endpoint allows less gas for a request.
        for run in open {
            let separate = self.separately(run.calls, at).await?;
            outcomes.iter_mut().skip(run.first).zip(separate).for_each(|(place, outcome)| *place = Some(outcome));
        }
        Ok(outcomes.into_iter().collect())
    }

    /// The outcomes of each run, as many as its gas allowed; `None` if an answer is not of the code.
    async fn sent(&self, runs: &[StrangerRun<'_>], at: B256) -> Result<Option<Vec<Vec<CallOutcome>>>, Fault> {
        let ask = |run: &StrangerRun<'_>| {
            let request = json!({ "data": bounded::code(run.calls)?, "gas": hex(REQUEST_GAS) });
            Some(("eth_call", json!([request, pinned(at)])))
        };
        let Some(asks) = runs.iter().map(ask).collect::<Option<Vec<Ask>>>() else { return Ok(None) };
        let mut outcomes = Vec::new();
        for (run, answer) in runs.iter().zip(self.halved(&asks).await?) {
            let answer: Bytes = serde_json::from_value(answer?).map_err(|error| Fault::unreadable(&error))?;
            let Some(answered) = bounded::outcomes(&answer, run.calls) else { return Ok(None) };
            outcomes.push(answered);
        }
        Ok(Some(outcomes))
    }

    /// Makes each call in its own `eth_call`.
    async fn separately(&self, calls: &[Bounded], at: B256) -> Result<Vec<CallOutcome>, Fault> {
        let ask = |call: &Bounded| {
            let request = json!({ "to": call.to, "data": call.data, "gas": hex(call.gas.into()) });
            ("eth_call", json!([request, pinned(at)]))
        };
        let mut outcomes = Vec::new();
        for part in calls.chunks(limits::SEPARATE_BATCH) {
            let answers = self.halved(&part.iter().map(ask).collect::<Vec<_>>()).await?;
            for (call, answer) in part.iter().zip(answers) {
                outcomes.push(outcome(call, answer)?);
            }
        }
        Ok(outcomes)
    }

    /// Sends `asks` as one batch, and in halves if it is too large, which no endpoint learns from: strangers decide how
    /// large it is.
    fn halved<'a>(&'a self, asks: &'a [Ask]) -> BoxFuture<'a, Result<Vec<Result<Value, Fault>>, Fault>> {
        async move {
            let ceiling = self.transport.current().map_or(1, Endpoint::batch_ceiling);
            let fault = if asks.len() > ceiling {
                Fault::TooManyCalls { most: Some(ceiling) }
            } else {
                match self.batch_once(asks).await {
                    Err(fault) => fault,
                    answers => return answers,
                }
            };
            let is_too_large = matches!(
                fault,
                Fault::Refused { .. } | Fault::TooDense { .. } | Fault::TooWide { .. } | Fault::TooManyCalls { .. }
            );
            if asks.len() <= 1 || !is_too_large {
                return Err(fault);
            }
            let (one, other) = asks.split_at(asks.len() / 2);
            let mut answers = self.halved(one).await?;
            answers.extend(self.halved(other).await?);
            Ok(answers)
        }
        .boxed()
    }
}

/// The parts of a run, each for one request.
fn split(run: StrangerRun<'_>, surely: bool) -> Vec<StrangerRun<'_>> {
    let (mut parts, mut run) = (Vec::new(), run);
    while !run.calls.is_empty() {
        // A call that fits no request is sent too, and not answered.
        let (part, rest) = run.calls.split_at(bounded::fitting(run.calls, limits::STRANGER_CALLS, surely).max(1));
        parts.push(StrangerRun { first: run.first, calls: part });
        run = StrangerRun { first: run.first + part.len(), calls: rest };
    }
    parts
}

/// The outcome that the answer to a separate call means.
fn outcome(call: &Bounded, answer: Result<Value, Fault>) -> Result<CallOutcome, Fault> {
    match answer {
        Ok(answer) => {
            let data: Bytes = serde_json::from_value(answer).map_err(|error| Fault::unreadable(&error))?;
            Ok(if data.len() > call.most.into() { CallOutcome::TooLong } else { CallOutcome::Returned(data) })
        }
        Err(Fault::Reverted { .. }) => Ok(CallOutcome::Reverted(Bytes::new())),
        // In words that are not known, at each endpoint: of this contract, as others are answered.
        Err(Fault::TooDense { .. } | Fault::Refused { .. }) => Ok(CallOutcome::TooLong),
        Err(fault) => Err(fault),
    }
}
