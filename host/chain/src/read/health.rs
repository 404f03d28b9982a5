//! The health of a chain's endpoints, as of the last request for the head, and whether they keep old state.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use serde_json::json;

use super::{Chain, clock::HeadDoubt, now};
use crate::{config::ChainConfig, names::NameSource, pauses, prices::PriceStatus};
use assay_domain::{Address, ChainId, ExposureClass};
use assay_evm::{
    client::{Block, Client, hex},
    endpoint::EndpointStatus,
    fault::Fault,
};
use assay_index::follow::IndexState;

/// The remark on an endpoint without old state.
pub const NO_OLD_STATE: &str = "the endpoint keeps no state of old blocks, so that first and last transactions are not \
                                found; add an archive endpoint to chains.rpc, or set chains.explorer";

/// The status of a chain's endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStatus {
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Host of the endpoint that answered last.
    pub endpoint: Option<String>,
    /// Newest block seen; `None` if the last request for it failed.
    pub head: Option<u64>,
    /// The time of the last block seen, in Unix seconds, even if the last request failed.
    pub head_time: Option<u64>,
    /// Seconds by the clock above which that block is too old; `None` without a bound.
    pub max_head_age: Option<u64>,
    pub error: Option<String>,
    /// Why that block is not believed to be the newest.
    pub(super) doubt: Option<HeadDoubt>,
    /// Whether it keeps the state of old blocks; `None` if that is unknown, or an explorer makes it needless.
    pub old_state: Option<bool>,
}

/// The last answer to a request for the head; all fields are `None` before the first one.
#[derive(Debug, Clone, Default)]
struct LastAnswer {
    /// The last head; an error leaves it.
    seen: Option<Block>,
    error: Option<String>,
    doubt: Option<HeadDoubt>,
}

#[derive(Default)]
pub(super) struct ChainHealth {
    last: Mutex<LastAnswer>,
    /// By the host of the endpoint: whether it keeps old state, and when that was asked.
    old_state: Mutex<HashMap<String, (bool, Instant)>>,
}

impl ChainHealth {
    /// Records an answer, and the doubt about it. Logs when the chain becomes readable or unreadable, and when a doubt
    /// comes or goes.
    pub(super) fn record(
        &self,
        config: &ChainConfig,
        client: &Client,
        head: &Result<Block, Fault>,
        doubt: Option<HeadDoubt>,
    ) {
        let (chain, mut last) = (config.id, self.last.lock().unwrap_or_else(PoisonError::into_inner));
        *last = match head {
            Ok(head) => {
                if last.head().is_none() {
                    tracing::info!(chain, endpoint = client.endpoint(), head = head.number, "chain can be read");
                }
                match doubt {
                    Some(doubt) if last.doubt.is_none() => {
                        tracing::warn!(chain, head = head.number, "newest block is {doubt}; answers are provisional");
                    }
                    None if last.doubt.is_some() => tracing::info!(chain, head = head.number, "head is current again"),
                    _ => {}
                }
                LastAnswer { seen: Some(*head), error: None, doubt }
            }
            Err(fault) => {
                if last.error.is_none() {
                    tracing::warn!(chain, %fault, "chain cannot be read");
                }
                LastAnswer { seen: last.seen, error: Some(fault.to_string()), doubt: None }
            }
        };
        last.measure(config);
    }

    /// Asks the endpoint in use for old state, unless its answer is known and recent. Logs a change to none.
    pub(super) async fn look_for_old_state(&self, chain: &ChainConfig, client: &Client) {
        let Some(endpoint) = client.endpoint() else { return };
        let earlier = self.verdicts().get(&endpoint).copied();
        if earlier.is_some_and(|(_, asked)| asked.elapsed() < pauses::OLD_STATE_VERDICT) {
            return;
        }
        let Some(kept) = old_state(client, chain).await else { return };
        // Another endpoint may have answered.
        if client.endpoint().as_ref() != Some(&endpoint) {
            return;
        }
        if !kept && earlier.is_none_or(|(kept, _)| kept) {
            tracing::warn!(chain = chain.id, endpoint, "{NO_OLD_STATE}");
        }
        self.verdicts().insert(endpoint, (kept, Instant::now()));
    }

    fn verdicts(&self) -> MutexGuard<'_, HashMap<String, (bool, Instant)>> {
        self.old_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last request for the head was answered.
    pub(super) fn is_up(&self) -> bool {
        self.head().is_some()
    }

    /// The newest block seen; `None` if the last request for it failed.
    pub(super) fn head(&self) -> Option<u64> {
        self.last().head()
    }

    pub(super) fn status(&self, config: &ChainConfig, endpoint: Option<String>) -> ChainStatus {
        let last = self.last();
        let kept = endpoint.as_ref().and_then(|endpoint| self.verdicts().get(endpoint).copied());
        ChainStatus {
            chain_id: config.id,
            chain_name: config.name.clone(),
            endpoint,
            head: last.head(),
            head_time: last.seen.map(|head| head.time),
            max_head_age: config.max_head_age.map(|age| age.as_secs()),
            error: last.error,
            doubt: last.doubt,
            old_state: kept.map(|(kept, _)| kept),
        }
    }

    fn last(&self) -> LastAnswer {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl LastAnswer {
    fn head(&self) -> Option<u64> {
        self.seen.filter(|_| self.error.is_none()).map(|head| head.number)
    }

    /// Sets the metrics of the head. While no endpoint answers, the age of the last one grows.
    fn measure(&self, config: &ChainConfig) {
        let (Some(head), chain) = (self.seen, config.id.to_string()) else { return };
        metrics::gauge!("assay_chain_head_block", "chain" => chain.clone()).set(head.number as f64);
        let age = now() as f64 - head.time as f64;
        metrics::gauge!("assay_chain_head_age_seconds", "chain" => chain.clone()).set(age);
        if let Some(bound) = config.max_head_age {
            metrics::gauge!("assay_chain_head_max_age_seconds", "chain" => chain).set(bound.as_secs_f64());
        }
    }
}

impl ChainStatus {
    /// Why the newest block is not believed, in words that say what to do.
    pub fn doubt(&self) -> Option<String> {
        let doubt = self.doubt?;
        let help = "answers are provisional; check the endpoints in chains.rpc, or set chains.max_head_age";
        Some(format!("newest block {} is {doubt}; {help}", self.head?))
    }
}

/// Whether the endpoint of `client` keeps the state of the first block of a market, or else of the chain; `None` if
/// it does not say.
pub async fn old_state(client: &Client, chain: &ChainConfig) -> Option<bool> {
    let block = chain.markets.iter().map(|market| market.from_block).min().unwrap_or(0).max(1);
    let answers = client.batch(vec![("eth_getBalance", json!([Address::ZERO, hex(block)]))]).await.ok()?;
    match answers.into_iter().next()? {
        Ok(_) => Some(true),
        Err(Fault::NoState) => Some(false),
        Err(_) => None,
    }
}

/// The state of a chain for operators: its head, its endpoints, its prices and its index.
#[derive(Debug, Clone)]
pub struct ChainOverview {
    pub status: ChainStatus,
    /// In the order of the configuration.
    pub endpoints: Vec<EndpointStatus>,
    /// `None` before the first read.
    pub prices: Option<PriceStatus>,
    pub index: IndexState,
    /// `None` if no name was resolved on the chain.
    pub names: Option<NameSource>,
}

impl ChainOverview {
    /// Why the chain cannot be read at all, in words that say what to do; `None` if an endpoint may answer.
    pub fn silent(&self) -> Option<String> {
        let (last, others) = self.endpoints.split_last()?;
        let fault = last.fault.as_ref().filter(|_| others.iter().all(|endpoint| endpoint.fault.is_some()))?;
        Some(format!(
            "no endpoint answers ({}: {fault}), so what needs this chain answers 502 or is provisional; check \
             chains.rpc",
            last.host
        ))
    }
}

impl Chain {
    pub(crate) fn exposure(&self, token: Address) -> ExposureClass {
        self.config.exposure(token)
    }

    pub(crate) fn overview(&self, names: Option<NameSource>) -> ChainOverview {
        ChainOverview {
            names,
            status: self.status(),
            endpoints: self.client.endpoints(),
            prices: self.prices.status(),
            index: self.index().borrow().clone(),
        }
    }
}
