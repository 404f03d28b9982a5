//! The progress of listing an address: the view of waiting callers, and the stored part.

use tokio::sync::watch;

use super::{
    reading::ListingState,
    records::{self, ActivityProgress},
};
use assay_domain::{Address, ChainId};
use assay_store::Store;

/// Which part of the activity a source lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListedScope {
    /// Everything in [`ActivityProgress`].
    All,
    /// Token transfers, and no transactions.
    Transfers,
    Nothing,
}

/// What is listed of an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Through the head if complete, else as far as it is read.
    pub progress: ActivityProgress,
    /// Nothing within the scope is missing.
    pub complete: bool,
    pub scope: ListedScope,
}

/// Where a read reports its progress.
pub(super) struct Output<'a> {
    pub chain: ChainId,
    pub store: &'a Store,
    /// Waiting callers see the latest value.
    pub view: &'a watch::Sender<Listed>,
}

impl Listed {
    /// Number of transactions sent; `None` if not all are listed.
    pub(crate) fn sent(&self) -> Option<u64> {
        (self.scope == ListedScope::All && self.complete).then_some(self.progress.sent)
    }
}

impl Output<'_> {
    /// Shows callers what is read so far.
    pub(super) fn publish(&self, reading: &ListingState, scope: ListedScope, complete: bool) {
        self.view.send_replace(Listed { progress: reading.with_tail(), complete, scope });
    }

    /// Stores what is settled.
    pub(super) async fn save(&self, wallet: Address, settled: &ActivityProgress) {
        if let Err(error) = self.store.put(&records::activity(self.chain, wallet), settled).await {
            tracing::error!(chain = self.chain, %error, "the listed activity of an address cannot be stored");
        }
    }
}
