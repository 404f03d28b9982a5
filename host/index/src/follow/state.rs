//! The state that the task of an index shares with the readers of wallets.

use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicBool, Ordering},
};

use tokio::sync::{Notify, watch};

use crate::Index;
use assay_domain::{Address, B256, ChainId};
use assay_evm::Block;

/// How far the index of a chain has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IndexState {
    /// The last block that it has.
    pub through: Option<u64>,
    pub hash: Option<B256>,
    /// The newest final block, which it reads to.
    pub settled: Option<u64>,
    /// Why it makes no progress now.
    pub trouble: Option<String>,
}

impl IndexState {
    /// Whether it has all final blocks.
    pub fn is_in_step(&self) -> bool {
        self.through.is_some() && self.through >= self.settled
    }
}

/// Shared by the task of a chain's index and the readers of wallets.
#[derive(Debug)]
pub struct FollowState {
    pub chain: ChainId,
    /// Set once it is open.
    pub index: OnceLock<Index>,
    /// The last block that counts if the chain is read as it was in the past.
    end: OnceLock<Block>,
    progress: watch::Sender<IndexState>,
    first_wallet: OnceLock<Address>,
    is_wanted: AtomicBool,
    wanted: Notify,
}

impl FollowState {
    pub fn new(chain: ChainId) -> Arc<Self> {
        Arc::new(Self {
            chain,
            index: OnceLock::new(),
            end: OnceLock::new(),
            progress: watch::Sender::default(),
            first_wallet: OnceLock::new(),
            is_wanted: AtomicBool::new(false),
            wanted: Notify::new(),
        })
    }

    /// Records that `wallet` was requested. From the second wallet on, the index saves requests.
    pub fn asked_for(&self, wallet: Address) {
        if *self.first_wallet.get_or_init(|| wallet) != wallet && !self.is_wanted.swap(true, Ordering::Relaxed) {
            self.wanted.notify_one();
        }
    }

    /// From now on, a wallet's history ends at `block`, even if the index has later blocks.
    pub fn end_at(&self, block: Block) {
        self.end.get_or_init(|| block);
    }

    pub fn end(&self) -> Option<Block> {
        self.end.get().copied()
    }

    /// Completes when a second wallet was requested.
    pub async fn wanted(&self) {
        while !self.is_wanted.load(Ordering::Relaxed) {
            self.wanted.notified().await;
        }
    }

    pub fn watch(&self) -> watch::Receiver<IndexState> {
        self.progress.subscribe()
    }

    pub fn through(&self) -> Option<u64> {
        self.progress.borrow().through
    }

    pub fn is_in_step(&self) -> bool {
        self.progress.borrow().is_in_step()
    }

    pub fn set(&self, change: impl FnOnce(&mut IndexState)) {
        self.progress.send_if_modified(|state| {
            let before = state.clone();
            change(state);
            *state != before
        });
    }
}
