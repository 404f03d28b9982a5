//! What the logs of a market say of one wallet: the form in which an index of all wallets keeps it. The ledger counts
//! entries as it counts what it extracts from the logs of one wallet.

use alloy::primitives::I256;

use crate::sums::Move;
use assay_domain::EventKind;

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
