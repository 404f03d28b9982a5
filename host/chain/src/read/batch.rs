//! Wallets that are read together: at one block of each chain, and with shared requests. Otherwise each is read
//! separately.

use std::sync::{Arc, Weak};

use tokio::sync::{Mutex, OnceCell, OwnedSemaphorePermit};

use super::{Chain, ReadPermit};
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
    /// The permit that the reads of the batch share as long as one of them needs it.
    permit: Mutex<Weak<OwnedSemaphorePermit>>,
    head: OnceCell<Result<Block, Fault>>,
}

impl WalletBatch {
    pub(crate) fn new(chains: &[Arc<Chain>]) -> Self {
        let part = |chain: &Arc<Chain>| BatchChain {
            chain: chain.id(),
            sharing: chain.client().share(),
            permit: Mutex::default(),
            head: OnceCell::new(),
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
    /// The permit of the batch, and the block at which all its wallets are read. They count as one read: the first one
    /// waits for its turn. The batch itself keeps no permit, because it may outlive its reads or wait for another read.
    pub(crate) async fn start(&self, chain: &Chain) -> (ReadPermit, Result<Block, Fault>) {
        let permit = self.permit(chain).await;
        (permit, self.head.get_or_init(|| chain.head()).await.clone())
    }

    async fn permit(&self, chain: &Chain) -> ReadPermit {
        let mut shared = self.permit.lock().await;
        let permit = match shared.upgrade() {
            Some(permit) => permit,
            None => chain.permit().await?,
        };
        *shared = Arc::downgrade(&permit);
        Some(permit)
    }
}
