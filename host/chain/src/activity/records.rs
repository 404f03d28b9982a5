//! What is kept of the activity of an address on one chain.

use std::collections::{BTreeMap, BTreeSet};

use assay_domain::{Address, B256, ChainId, Seen, U256};
use assay_store::{Family, Key};
use serde::{Deserialize, Serialize};

/// The first transaction of an address on one chain, once found.
pub fn first_transaction(chain: ChainId, address: Address) -> Key<Seen> {
    Family::spread("first/").key(format_args!("{chain}/{address:#x}"))
}

/// How far the lists of one address on one chain have been read.
pub fn activity(chain: ChainId, address: Address) -> Key<ActivityProgress> {
    Family::spread("activity/").key(format_args!("{chain}/{address:#x}"))
}

/// What is listed of one address on one chain, as far as it is settled: each list of an explorer through its last row
/// that no reorganisation reaches any more. A list that shows nothing for a while may be behind, so that no empty span
/// is settled; by the logs of a node the lists of tokens are settled through the last block that no reorganisation
/// reaches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityProgress {
    /// First block of each list that is not settled.
    pub transactions_from: u64,
    pub transfers_from: u64,
    pub collectibles_from: u64,
    pub multi_from: u64,
    /// The newest settled row, or block: another time of that block means that the chain was replaced.
    pub anchor: Option<Seen>,
    /// The hash of that block, where the logs of a node tell: an explorer's rows name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor_hash: Option<B256>,
    /// Transactions sent.
    pub sent: u64,
    pub first_sent: Option<Seen>,
    pub last_sent: Option<Seen>,
    /// Token transfers in and out.
    pub transfers: u64,
    /// The smallest hashes of the others in transactions; all of them where none was left out.
    pub others: BTreeSet<u64>,
    pub others_left_out: bool,
    /// Days since 1970 (UTC) with a transaction sent.
    pub days: BTreeSet<u32>,
    /// Hours of the day (UTC) with a transaction sent, one bit each.
    pub hours: u32,
    /// Times between transactions sent, counted by class of length.
    pub gaps: BTreeMap<u32, u64>,
    /// ERC-20 contracts that moved something from or to the address, with the block of the last time.
    pub tokens: BTreeMap<Address, u64>,
    pub tokens_left_out: bool,
    /// Non-fungible tokens that came and were not seen to go, latest last.
    pub nfts: Vec<NftRecord>,
}

/// One non-fungible token of which an address may have some.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NftRecord {
    pub contract: Address,
    pub id: U256,
    /// ERC-1155, of which many may have some.
    pub multi: bool,
}
