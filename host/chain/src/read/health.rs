//! The health of a chain's endpoints, as of the last question for the head.

use std::sync::{Mutex, PoisonError};

use assay_domain::ChainId;
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
};

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
}

/// The last answer to a question for the head; both fields are `None` before the first one.
#[derive(Debug, Clone, Default)]
struct LastAnswer {
    head: Option<u64>,
    error: Option<String>,
}

#[derive(Default)]
pub(super) struct Health(Mutex<LastAnswer>);

impl Health {
    /// Records an answer. Logs when the chain becomes readable or unreadable.
    pub(super) fn record(&self, chain: ChainId, client: &Client, head: &Result<Block, Fault>) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Whether the last question for the head was answered.
    pub(super) fn is_up(&self) -> bool {
        self.last().head.is_some()
    }

    pub(super) fn status(&self, chain_id: ChainId, chain_name: String, endpoint: Option<String>) -> ChainStatus {
        let LastAnswer { head, error } = self.last();
        ChainStatus { chain_id, chain_name, endpoint, head, error }
    }

    fn last(&self) -> LastAnswer {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
