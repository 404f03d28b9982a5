//! The ERC-8004 registries of one chain, and the documents of their tokens.
//!
//! An agent's id in the API is its token's id, so that feedback for an id is about the same agent. The registry counts
//! from 0 and the API from 1: token 0 counts among all agents and has no path in the API.

mod encoding;
mod events;
mod identity;
mod reputation;
mod token_uri;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64},
    },
    time::Duration,
};

use tokio::time::timeout;

use crate::config;
use assay_domain::{Address, B256, ChainId};
use assay_evm::{client::Client, fault::Fault};

pub use encoding::base64;
pub(crate) use events::{AgentChange, AgentEvent, event};
pub(crate) use identity::Token;
pub(crate) use token_uri::Outside;
pub use token_uri::{Documents, Located};

/// Longest time for a read of a registry: a request has more, and fetches documents after it.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Largest id and count that are believed: a registry counts one by one.
const MAX_AGENTS: u64 = 10_000_000;

/// A registry could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AgentsError(String);

impl From<Fault> for AgentsError {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

/// A block by number and hash, up to which a reader has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    pub number: u64,
    pub hash: B256,
}

/// The identity and the reputation registry. Cheap to clone.
#[derive(Clone)]
pub struct AgentRegistries {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    chain: ChainId,
    identity: Address,
    reputation: Address,
    /// The account of this service, which gives feedback itself.
    own: Option<Address>,
    start: u64,
    finality: u64,
    log_range: u64,
    /// The registry has its count in the same storage slot as the published one.
    counted: AtomicBool,
    /// The count that the last search found.
    found: AtomicU64,
}

impl AgentRegistries {
    /// `own` is the account of this service, which gives feedback itself; `finality` the blocks after which a block is
    /// final.
    pub fn new(client: Client, config: &config::Agents, own: Option<Address>, finality: u64, log_range: u64) -> Self {
        let inner = Inner {
            client,
            chain: config.chain,
            identity: config.identity_registry,
            reputation: config.reputation_registry,
            own,
            start: config.start(),
            finality,
            log_range,
            counted: AtomicBool::new(false),
            found: AtomicU64::new(0),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn chain(&self) -> ChainId {
        self.inner.chain
    }

    /// Address of the identity registry.
    pub fn identity(&self) -> Address {
        self.inner.identity
    }

    /// The first block with a possible event.
    pub fn start(&self) -> u64 {
        self.inner.start
    }

    /// The newest block, and the newest final block if there is one.
    ///
    /// # Errors
    /// [`AgentsError`]; as all reads here.
    pub async fn head(&self) -> Result<(Mark, Option<u64>), AgentsError> {
        let head = bounded(self.inner.client.head()).await?;
        Ok((Mark { number: head.number, hash: head.hash }, head.number.checked_sub(self.inner.finality)))
    }

    /// The block of this number; `None` if there is none.
    ///
    /// # Errors
    /// [`AgentsError`].
    pub async fn mark(&self, number: u64) -> Result<Option<Mark>, AgentsError> {
        let block = bounded(self.inner.client.block(number)).await?;
        Ok(block.map(|block| Mark { number: block.number, hash: block.hash }))
    }
}

async fn bounded<T, E: Into<AgentsError>>(read: impl Future<Output = Result<T, E>>) -> Result<T, AgentsError> {
    match timeout(TIMEOUT, read).await {
        Ok(answer) => answer.map_err(Into::into),
        Err(_) => Err(AgentsError(format!("the registry was not read within {} s", TIMEOUT.as_secs()))),
    }
}
