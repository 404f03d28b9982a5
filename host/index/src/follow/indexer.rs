//! The input of the task that builds the index of a chain.

use std::{num::NonZeroU32, sync::Arc};

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use tokio::{
    sync::OnceCell,
    task::{JoinError, spawn_blocking},
};

use super::{lazy::LazyIndex, state::FollowState};
use crate::{Index, IndexError, config::IndexMode};
use assay_domain::{Address, ChainId};
use assay_evm::{Client, Fault, config::LogLimits};
use assay_lending::{Market, TermsCache};

/// Builds the index of a chain; [`run`](Self::run) is its task.
pub struct Indexer {
    pub chain: ChainId,
    /// Its requests have a lower priority than those of callers ([`Client::behind`]).
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub terms: Arc<TermsCache>,
    pub finality: u64,
    pub logs: LogLimits,
    pub mode: IndexMode,
    /// Whether new blocks are read. An export of the past uses the index as it is.
    pub follows: bool,
    pub budget: Budget,
    /// Whether log queries must name a contract, once the endpoint was asked.
    pub is_scoped: OnceCell<bool>,
    pub folder: Arc<LazyIndex>,
    pub state: Arc<FollowState>,
}

/// Why a round ended before the newest final block.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Trouble {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("the market {0} does not answer as its protocol should; check its address in chains.markets")]
    Market(Address),
    #[error("the index was interrupted: {0}")]
    Task(#[from] JoinError),
}

impl Indexer {
    /// Runs `work`, which blocks, on the index of this chain.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        index: &Index,
        work: impl FnOnce(&Index, ChainId) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (index, chain) = (index.clone(), self.chain);
        Ok(spawn_blocking(move || work(&index, chain)).await??)
    }
}

/// The rate limit of the requests for one index; `None` for no limit.
pub struct Budget(Option<DefaultDirectRateLimiter>);

impl Budget {
    /// At most `per_second` requests; 0 for no limit.
    pub fn new(per_second: u32) -> Self {
        Self(NonZeroU32::new(per_second).map(|rate| RateLimiter::direct(Quota::per_second(rate))))
    }

    /// Waits until `requests` more may be sent.
    pub async fn spend(&self, requests: usize) {
        let Some(limiter) = &self.0 else { return };
        for _ in 0..requests {
            limiter.until_ready().await;
        }
    }
}
