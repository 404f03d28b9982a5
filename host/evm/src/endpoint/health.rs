//! Health of an endpoint: whether it may be used now, by its last failures and by the chain that it serves.

use std::{sync::PoisonError, time::Duration};

use alloy::{
    primitives::U64,
    rpc::json_rpc::{Id, Request, ResponsePacket},
};
use tokio::time::Instant;

use super::Endpoint;
use crate::fault::Fault;
use assay_domain::ChainId;

/// First pause after a failure; doubled with each further one.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// An endpoint of another chain is checked again after this time: its operator may have corrected it.
const WRONG_CHAIN_PAUSE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
pub(super) enum Health {
    /// Its chain id is to be checked before its first use.
    Unchecked,
    Good,
    /// It failed `failures` times in a row, the last time with `fault`, and is not used until then.
    Paused {
        until: Instant,
        failures: u32,
        fault: Fault,
    },
    WrongChain {
        until: Instant,
        found: ChainId,
    },
}

/// Whether an endpoint may be used now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It failed a moment ago: it gets one attempt without retries.
    OneAttempt,
    /// A request would cost the caller its time, or return data of another chain.
    Unusable(Fault),
}

impl Endpoint {
    pub fn readiness(&self) -> Readiness {
        match &*self.health.lock().unwrap_or_else(PoisonError::into_inner) {
            Health::Unchecked | Health::Good => Readiness::Ready,
            Health::Paused { until, fault, .. } if *until > Instant::now() => match fault {
                // A refused connection fails at once; an endpoint that does not answer costs the whole timeout.
                Fault::Unreachable(_) => Readiness::OneAttempt,
                fault => Readiness::Unusable(fault.clone()),
            },
            Health::WrongChain { until, found } if *until > Instant::now() => {
                Readiness::Unusable(self.wrong_chain(*found))
            }
            Health::Paused { .. } | Health::WrongChain { .. } => Readiness::Ready,
        }
    }

    /// Pauses the endpoint after `fault`.
    pub fn record_failure(&self, fault: &Fault) {
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = match &*health {
            Health::Paused { failures, .. } => failures.saturating_add(1),
            Health::Unchecked | Health::Good => 1,
            Health::WrongChain { .. } => return,
        };
        if failures == 1 {
            tracing::warn!(chain = self.chain, endpoint = self.host, %fault, "endpoint failed");
        }
        let pause = PAUSE.saturating_mul(1 << failures.saturating_sub(1).min(8)).min(MAX_PAUSE);
        *health = Health::Paused { until: Instant::now() + pause, failures, fault: fault.clone() };
    }

    /// Checks that the endpoint serves the configured chain: before its first use, and after every failure.
    ///
    /// # Errors
    /// [`Fault::WrongChain`] where it serves another one.
    pub async fn check_chain(&self) -> Result<(), Fault> {
        let is_good = || matches!(*self.health.lock().unwrap_or_else(PoisonError::into_inner), Health::Good);
        if is_good() {
            return Ok(());
        }
        let _one_at_a_time = self.checking.lock().await;
        if is_good() {
            return Ok(());
        }
        let found = self.ask_chain().await?;
        let mut health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        if found == self.chain {
            *health = Health::Good;
            return Ok(());
        }
        if !matches!(&*health, Health::WrongChain { .. }) {
            tracing::error!(
                chain = self.chain,
                endpoint = self.host,
                found,
                "endpoint serves another chain and is not used; correct chains.rpc in the configuration"
            );
        }
        *health = Health::WrongChain { until: Instant::now() + WRONG_CHAIN_PAUSE, found };
        Err(self.wrong_chain(found))
    }

    async fn ask_chain(&self) -> Result<ChainId, Fault> {
        let request =
            Request::new("eth_chainId", Id::Number(0), ()).serialize().map_err(|e| Fault::Malformed(e.to_string()))?;
        let ResponsePacket::Single(response) = self.post(&request.into()).await? else {
            return Err(Fault::Malformed("a batch for a single request".into()));
        };
        if let Some(payload) = response.payload.as_error() {
            return Err(Fault::from_payload(payload));
        }
        let found = response.try_success_as::<U64>().and_then(Result::ok);
        found.map(|id| id.to()).ok_or_else(|| Fault::Malformed("eth_chainId is no number".into()))
    }

    fn wrong_chain(&self, found: ChainId) -> Fault {
        Fault::WrongChain { found, expected: self.chain }
    }
}
