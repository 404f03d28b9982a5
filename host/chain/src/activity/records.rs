//! Stored records of the activity of an address on one chain.

use std::collections::{BTreeMap, BTreeSet};

use assay_domain::{Address, B256, ChainId, Seen, U256};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// Key of the search for the transactions that an address sent on one chain.
pub(crate) fn sent(chain: ChainId, address: Address) -> Key<SentProgress> {
    Family::spread("sent/").key(format_args!("{chain}/{address:#x}"))
}

/// Key of the progress of an address on one chain.
pub(crate) fn activity(chain: ChainId, address: Address) -> Key<ActivityProgress> {
    Family::spread("activity/").key(format_args!("{chain}/{address:#x}"))
}

/// The settled part of the search for the first and the last transaction of an address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SentProgress {
    /// The final block through which it is settled. If its hash differs, the chain was replaced.
    pub settled_to_block: u64,
    pub settled_block_hash: B256,
    /// Nonces after blocks, those next to the first and the last transaction.
    pub nonces: BTreeMap<u64, u64>,
    /// Times of those blocks, as far as known.
    pub seen: Vec<Seen>,
}

/// The settled part of what is listed of an address. A list of an explorer is settled through its last row in a final
/// block: the explorer may be behind, so a span without rows is not settled. Lists from the logs of a node are settled
/// through the last final block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ActivityProgress {
    /// First block of each list that is not settled.
    pub transactions_from: u64,
    pub transfers_from: u64,
    pub collectibles_from: u64,
    pub multi_from: u64,
    /// The block through which it is settled. If its time differs, the chain was replaced.
    pub anchor: Option<Seen>,
    /// The hash of that block, if it comes from a node: an explorer's rows have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_hash: Option<B256>,
    /// Transactions sent.
    pub sent: u64,
    pub first_sent: Option<Seen>,
    pub last_sent: Option<Seen>,
    /// Token transfers in and out.
    pub transfers: u64,
    /// The smallest hashes of the counterparties; all of them if none was left out.
    pub others: BTreeSet<u64>,
    pub others_left_out: bool,
    /// Days since 1970 (UTC) with a transaction sent.
    pub days: BTreeSet<u32>,
    /// Hours of the day (UTC) with a transaction sent, one bit each.
    pub hours: u32,
    /// Histogram of the times between transactions sent.
    pub gaps: BTreeMap<u32, u64>,
    /// ERC-20 contracts with a transfer from or to the address, with the block of the last one.
    pub tokens: BTreeMap<Address, u64>,
    pub tokens_left_out: bool,
    /// Non-fungible tokens received and not seen to be sent, latest last.
    pub nfts: Vec<NftRecord>,
}

/// A non-fungible token that an address may hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NftRecord {
    pub contract: Address,
    pub id: U256,
    /// ERC-1155: several addresses may hold units of it.
    pub multi: bool,
}
