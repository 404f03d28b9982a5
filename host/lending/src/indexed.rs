//! What an index of all wallets has of one wallet: entries, which the ledger counts as it counts what it extracts from
//! the logs of one wallet.

use std::fmt::Debug;

use alloy::primitives::I256;
use futures::future::BoxFuture;

use crate::sums::Move;
use assay_domain::{Address, B256, EventKind};

/// The markets of one chain, read for all wallets.
pub trait Index: Debug + Send + Sync {
    /// What it has of `wallet`; `None` where it has nothing now, or ends before block `least`.
    fn history(&self, wallet: Address, least: u64) -> BoxFuture<'static, Option<Indexed>>;
}

/// What an index has of one wallet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// Its last block, which was final when it was read.
    pub through: u64,
    pub hash: B256,
    pub markets: Vec<IndexedMarket>,
}

/// All entries of one wallet in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedMarket {
    pub address: Address,
    /// The block at which the reading of the market began.
    pub from: u64,
    /// The digest of what was asked, by [`Everyone::asked`](crate::Everyone::asked).
    pub asked: B256,
    pub entries: Vec<Entry>,
}

/// What the logs of one block say of a wallet in one market.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub block: u64,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// Something happened to the position; `time` is that of the block, in Unix seconds.
    Event { kind: EventKind, time: u64 },
    /// An amount moved.
    Moved(Move),
    /// The logs may not show everything; the wallet owned at least this after them.
    Incomplete { owned: I256 },
}
