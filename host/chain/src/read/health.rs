//! The health of a chain's endpoints, as of the last question for the head, and whether they keep old state.

use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::json;

use crate::config::ChainConfig;
use assay_domain::{Address, ChainId};
use assay_evm::{
    client::{Block, Client, hex},
    fault::Fault,
};

/// What the lack of old state means, and what helps.
pub const NO_OLD_STATE: &str = "the endpoint keeps no state of old blocks, so that first and last transactions are not \
                                found; add an archive endpoint to chains.rpc, or set chains.explorer";

/// What is known of a chain's endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainStatus {
    pub chain_id: ChainId,
    pub chain_name: String,
    /// Host of the endpoint that answered last.
    pub endpoint: Option<String>,
    /// Newest block seen; `None` where the last question for it failed.
    pub head: Option<u64>,
    pub error: Option<String>,
    /// Whether it keeps the state of old blocks; `None` where that is unknown, or an explorer makes it needless.
    pub old_state: Option<bool>,
}

/// The last answer to a question for the head; both fields are `None` before the first one.
#[derive(Debug, Clone, Default)]
struct LastAnswer {
    head: Option<u64>,
    error: Option<String>,
}

#[derive(Default)]
pub(super) struct Health {
    last: Mutex<LastAnswer>,
    old_state: OnceLock<bool>,
}

impl Health {
    /// Records an answer. Logs when the chain becomes readable or unreadable.
    pub(super) fn record(&self, chain: ChainId, client: &Client, head: &Result<Block, Fault>) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = match head {
            Ok(head) => {
                if last.head.is_none() {
                    tracing::info!(chain, endpoint = client.endpoint(), head = head.number, "chain can be read");
                }
                metrics::gauge!("assay_chain_head_block", "chain" => chain.to_string()).set(head.number as f64);
                LastAnswer { head: Some(head.number), error: None }
            }
            Err(fault) => {
                if last.error.is_none() {
                    tracing::warn!(chain, %fault, "chain cannot be read");
                }
                LastAnswer { head: None, error: Some(fault.to_string()) }
            }
        };
    }

    /// Asks for old state until an answer is known. Logs once where there is none.
    pub(super) async fn look_for_old_state(&self, chain: &ChainConfig, client: &Client) {
        if self.old_state.get().is_some() {
            return;
        }
        let Some(kept) = old_state(client, chain).await else { return };
        if self.old_state.set(kept).is_ok() && !kept {
            tracing::warn!(chain = chain.id, endpoint = client.endpoint(), "{NO_OLD_STATE}");
        }
    }

    /// Whether the last question for the head was answered.
    pub(super) fn is_up(&self) -> bool {
        self.head().is_some()
    }

    /// The newest block seen; `None` where the last question for it failed.
    pub(super) fn head(&self) -> Option<u64> {
        self.last().head
    }

    pub(super) fn status(&self, chain_id: ChainId, chain_name: String, endpoint: Option<String>) -> ChainStatus {
        let LastAnswer { head, error } = self.last();
        ChainStatus { chain_id, chain_name, endpoint, head, error, old_state: self.old_state.get().copied() }
    }

    fn last(&self) -> LastAnswer {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether the endpoint of `client` keeps the state of the first block of a market, or else of the chain; `None` where
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
