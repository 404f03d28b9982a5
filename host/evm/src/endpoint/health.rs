//! Health of an endpoint: whether it may be used now, by its last failures and the chain that it serves. An endpoint
//! that failed rests; after a pause the watcher requests its chain id and puts it back into use.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy::{
    primitives::U64,
    rpc::json_rpc::{Id, Request, ResponsePacket},
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep_until},
};

use super::{Endpoint, Rank};
use crate::{fault::Fault, pauses, single_flight::SingleFlight};
use assay_domain::ChainId;

#[derive(Default)]
pub(super) struct EndpointHealth {
    state: Mutex<HealthState>,
    /// Failures since its last answer to a reader.
    failures: AtomicU32,
    /// All failures so far.
    failed: AtomicU64,
    /// Signals that a rest begins.
    rests: Notify,
    /// The `eth_chainId` request in progress.
    check: SingleFlight<(), Result<(), Fault>>,
}

#[derive(Debug, Clone, Default)]
enum HealthState {
    /// Its chain id must be checked before its first use.
    #[default]
    Unchecked,
    Good,
    /// It failed at `since` with `fault`, and rests at least until `until`.
    Rests {
        since: Instant,
        until: Instant,
        fault: Fault,
    },
}

/// Whether an endpoint may be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// Only if no other endpoint is ready: it failed, and an attempt costs nothing, or its pause is over.
    Rests,
    /// A request would cost the caller its time, or return data of another chain.
    Unusable(Fault),
}

impl Endpoint {
    pub fn readiness(&self) -> Readiness {
        match &*self.state() {
            HealthState::Unchecked | HealthState::Good => Readiness::Ready,
            // A refusal and an unreadable answer cost little; no answer costs the whole timeout.
            HealthState::Rests {
                fault: Fault::Unreachable(_) | Fault::Malformed(_) | Fault::Refused { .. }, ..
            } => Readiness::Rests,
            HealthState::Rests { until, .. } if *until <= Instant::now() => Readiness::Rests,
            HealthState::Rests { fault, .. } => Readiness::Unusable(fault.clone()),
        }
    }

    /// How long it still rests after a failure that costs callers time; `None` while it is usable.
    pub fn rest(&self) -> Option<Duration> {
        let Readiness::Unusable(_) = self.readiness() else { return None };
        match &*self.state() {
            HealthState::Rests { until, .. } => Some(until.saturating_duration_since(Instant::now())),
            HealthState::Unchecked | HealthState::Good => None,
        }
    }

    /// Its state in one word, and the failure after which it rests.
    pub(super) fn standing(&self) -> (&'static str, Option<Fault>) {
        match &*self.state() {
            HealthState::Unchecked => ("unused", None),
            HealthState::Good => ("ready", None),
            HealthState::Rests { fault, .. } => ("rests", Some(fault.clone())),
        }
    }

    /// The number of its failures so far; requests that fail together count once.
    pub(super) fn failed(&self) -> u64 {
        self.health.failed.load(Ordering::Relaxed)
    }

    /// Whether it failed and has not answered a reader since.
    pub fn is_doubtful(&self) -> bool {
        self.health.failures.load(Ordering::Relaxed) > 0
    }

    /// Rests the endpoint after `fault` of a request that began at `began`. Requests that fail together count once.
    pub fn record_failure(&self, fault: &Fault, began: Instant) {
        let mut state = self.state();
        let earlier = match &*state {
            HealthState::Rests { since, .. } if began < *since => return,
            HealthState::Rests { fault, .. } => Some(fault),
            HealthState::Unchecked | HealthState::Good => None,
        };
        let failures = self.health.failures.fetch_add(1, Ordering::Relaxed);
        self.health.failed.fetch_add(1, Ordering::Relaxed);
        let (chain, endpoint) = (self.chain, &self.host);
        let pause = if let Fault::WrongChain { found, .. } = fault {
            if !matches!(earlier, Some(Fault::WrongChain { .. })) {
                tracing::error!(
                    chain,
                    endpoint,
                    found,
                    "endpoint serves another chain and is not used; correct chains.rpc in the configuration"
                );
            }
            pauses::WRONG_CHAIN
        } else {
            if failures == 0 {
                tracing::warn!(chain, endpoint, %fault, "endpoint failed");
            }
            pauses::FAILURE.saturating_mul(1 << failures.min(8)).min(pauses::MAX_FAILURE)
        };
        let since = Instant::now();
        *state = HealthState::Rests { since, until: since + pause, fault: fault.clone() };
        self.health.rests.notify_one();
    }

    /// Records that it answered a reader.
    pub fn record_answer(&self) {
        if self.is_doubtful() && self.health.failures.swap(0, Ordering::Relaxed) > 0 {
            tracing::info!(chain = self.chain, endpoint = self.host, "endpoint answers again");
        }
    }

    /// Checks that the endpoint serves the configured chain: before its first use, and after every failure. Concurrent
    /// callers share the request.
    ///
    /// # Errors
    /// [`Fault::WrongChain`] if it serves another one.
    pub async fn check_chain(self: &Arc<Self>) -> Result<(), Fault> {
        if matches!(*self.state(), HealthState::Good) {
            return Ok(());
        }
        let ask = || {
            let endpoint = self.clone();
            (async move { endpoint.compare_chain().await }, ())
        };
        self.health.check.join((), ask).outcome.await
    }

    /// Requests the endpoint's chain id whenever a pause ends. Runs forever.
    pub async fn watch(self: &Arc<Self>) {
        loop {
            let due = match &*self.state() {
                HealthState::Rests { until, .. } => Some(*until),
                HealthState::Unchecked | HealthState::Good => None,
            };
            let began = Instant::now();
            match due {
                None => self.health.rests.notified().await,
                // A request that tried it in the meantime may have extended the pause.
                Some(due) if due > began => sleep_until(due).await,
                Some(_) => {
                    if let Err(fault) = self.check_chain().await {
                        self.record_failure(&fault, began);
                    }
                }
            }
        }
    }

    async fn compare_chain(self: &Arc<Self>) -> Result<(), Fault> {
        let found = self.ask_chain().await?;
        if found != self.chain {
            return Err(Fault::WrongChain { found, expected: self.chain });
        }
        *self.state() = HealthState::Good;
        Ok(())
    }

    async fn ask_chain(self: &Arc<Self>) -> Result<ChainId, Fault> {
        let request =
            Request::new("eth_chainId", Id::Number(0), ()).serialize().map_err(|e| Fault::Malformed(e.to_string()))?;
        let ResponsePacket::Single(response) =
            self.post(&Arc::new(request.into()), Rank::First, pauses::CHAIN_ID_PATIENCE).await?
        else {
            return Err(Fault::Malformed("a batch for a single request".into()));
        };
        if let Some(payload) = response.payload.as_error() {
            return Err(Fault::of("eth_chainId", payload));
        }
        let found = response.try_success_as::<U64>().and_then(Result::ok);
        found.map(|id| id.to()).ok_or_else(|| Fault::Malformed("eth_chainId is no number".into()))
    }

    fn state(&self) -> MutexGuard<'_, HealthState> {
        self.health.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
