//! The head of a chain, requested while a name is resolved, so the read that follows does not wait for it.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use assay_evm::client::Block;

/// Maximum age of the head. Most chains have no new block by then.
const LIFETIME: Duration = Duration::from_secs(1);

/// The newest such head. It serves one read.
#[derive(Default)]
pub(super) struct Ahead(Mutex<Option<(Instant, Block)>>);

impl Ahead {
    pub(super) fn put(&self, head: Block) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), head));
    }

    pub(super) fn take(&self) -> Option<Block> {
        let (answered, head) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        (answered.elapsed() < LIFETIME).then_some(head)
    }
}
