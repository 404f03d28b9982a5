//! Wallets that are read together: at one block of each chain, and with shared requests. Otherwise each is read
//! separately.

use std::sync::Arc;

use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use super::Chain;
use assay_domain::ChainId;
use assay_evm::{
    client::{Block, Sharing},
    fault::Fault,
};

/// The wallets of one batch. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WalletBatch(Arc<Vec<BatchChain>>);

/// The state that a batch shares on one chain.
pub(crate) struct BatchChain {
    chain: ChainId,
    sharing: Sharing,
    start: OnceCell<(Option<OwnedSemaphorePermit>, Result<Block, Fault>)>,
}

impl WalletBatch {
    pub(crate) fn new(chains: &[Arc<Chain>]) -> Self {
        let part = |chain: &Arc<Chain>| BatchChain {
            chain: chain.id(),
            sharing: chain.client().share(),
            start: OnceCell::new(),
        };
        Self(Arc::new(chains.iter().map(part).collect()))
    }

    pub(crate) fn on(&self, chain: ChainId) -> Option<&BatchChain> {
        self.0.iter().find(|part| part.chain == chain)
    }

    /// Handles that keep requests shared while histories are read in the background.
    pub(crate) fn sharing(&self) -> Vec<Sharing> {
        self.0.iter().map(|part| part.sharing.clone()).collect()
    }
}

impl BatchChain {
    /// The block at which all wallets of the batch are read. They count as one read: the first one waits for its turn.
    pub(crate) async fn head(&self, chain: &Chain) -> Result<Block, Fault> {
        let start = || async { (chain.permit().await, chain.head().await) };
        self.start.get_or_init(start).await.1.clone()
    }
}
