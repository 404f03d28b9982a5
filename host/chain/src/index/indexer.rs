//! What the index of a chain is read with.

use std::sync::Arc;

use tokio::task::{JoinError, spawn_blocking};

use super::{budget::Budget, shelf::Shelf, state::State};
use crate::config::{IndexMode, Reading};
use assay_domain::{Address, ChainId};
use assay_evm::{Client, Fault, config::LogLimits};
use assay_index::{Index, IndexError};
use assay_lending::{Market, TermsCache};

/// What the index of a chain is read with.
pub(crate) struct Indexer {
    pub chain: ChainId,
    /// Asked after all callers.
    pub client: Client,
    pub markets: Arc<[Market]>,
    pub terms: Arc<TermsCache>,
    pub finality: u64,
    pub logs: LogLimits,
    pub mode: IndexMode,
    /// Whether it reads new blocks. An export of the past uses the index as it is.
    pub follows: bool,
    pub(super) budget: Budget,
    pub shelf: Arc<Shelf>,
    pub state: Arc<State>,
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
    pub fn new(
        (chain, finality): (ChainId, u64),
        client: &Client,
        (markets, terms): (Arc<[Market]>, Arc<TermsCache>),
        reading: &Reading,
        (shelf, state): (Arc<Shelf>, Arc<State>),
    ) -> Self {
        let budget = Budget::new(reading.index_per_second);
        let (client, logs, mode) = (client.behind(), reading.logs(), reading.index);
        Self { chain, client, markets, terms, finality, logs, mode, follows: true, budget, shelf, state }
    }

    /// The same indexer, but it reads no new blocks.
    pub fn that_stays(self) -> Self {
        Self { follows: false, ..self }
    }

    /// What `work`, which blocks, does with the index of this chain.
    pub(super) async fn with<T: Send + 'static>(
        &self,
        index: &Index,
        work: impl FnOnce(&Index, ChainId) -> Result<T, IndexError> + Send + 'static,
    ) -> Result<T, Trouble> {
        let (index, chain) = (index.clone(), self.chain);
        Ok(spawn_blocking(move || work(&index, chain)).await??)
    }
}
