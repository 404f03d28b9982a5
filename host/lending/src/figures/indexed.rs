//! A wallet's entries in an index of all wallets. The ledger counts them like those that it extracts from the logs of
//! one wallet.

use std::{collections::BTreeMap, fmt::Debug, ops::RangeInclusive};

use alloy::primitives::I256;
use futures::future::BoxFuture;

use crate::figures::sums::Move;
use assay_domain::{Address, B256, EventKind};

/// The markets of one chain, read for all wallets.
pub trait Index: Debug + Send + Sync {
    /// Whether it has all final blocks.
    fn is_ready(&self) -> bool;

    /// The index's history of `wallet`; `None` if it has none now, or ends before block `least`.
    fn history(&self, wallet: Address, least: u64) -> BoxFuture<'static, Option<Indexed>>;
}

/// A wallet's history in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexed {
    /// The index's last block, which was final when it was read.
    pub through: u64,
    pub hash: B256,
    /// Whether all its logs were compared with another endpoint, or with the blooms of the blocks.
    pub is_checked: bool,
    pub markets: Vec<IndexedMarket>,
}

impl Indexed {
    /// The parts of the position that the wallet had in the market at `address`.
    pub(crate) fn parts(&self, address: Address) -> impl Iterator<Item = B256> {
        let own = self.markets.iter().filter(move |market| market.address == address);
        own.flat_map(|market| &market.entries).filter_map(|entry| match entry.what {
            What::Moved(moved) => moved.asset.part(),
            _ => None,
        })
    }
}

/// All entries of one wallet in one market.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedMarket {
    pub address: Address,
    /// The block at which the index of the market begins.
    pub from: u64,
    /// The digest of the queries, from [`Scan::asked`](crate::Scan::asked).
    pub asked: B256,
    pub entries: Vec<Entry>,
}

/// For each position that a wallet held, by its number: the ranges of blocks at whose end the wallet held it.
pub(crate) type Had = BTreeMap<u64, Vec<RangeInclusive<u64>>>;

/// One event or amount of a wallet in one market, with its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub block: u64,
    pub what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An event of the position; `time` is that of the block, in Unix seconds.
    Event { kind: EventKind, time: u64 },
    /// An amount moved.
    Moved(Move),
    /// The logs may not show everything, or lack one; the wallet owned at least this after them.
    Incomplete { owned: I256 },
}
