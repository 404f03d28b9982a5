//! The interface to a source that names transactions over any range of blocks at once, such as an explorer.

use std::collections::BTreeSet;

use futures::future::BoxFuture;

use assay_domain::{Address, B256};
use assay_evm::{Span, logs::LogQuery};

/// A source of the transactions with logs that name a wallet.
pub trait WholeRange: Send + Sync {
    /// The transactions with a log in `span` that names `wallet` and answers one of `queries`; `None` if the source may
    /// not know all of them.
    fn transactions<'a>(&'a self, wallet: Address, queries: &'a [LogQuery], span: Span)
    -> BoxFuture<'a, Option<Named>>;
}

/// The transactions that a source returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub transactions: BTreeSet<B256>,
    /// The transactions are complete through this block, which may be before the end of the span.
    pub through: u64,
}
