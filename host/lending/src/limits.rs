//! Limits of reads of lending history: number, size and time.

use std::time::Duration;

// Reads.
/// Maximum number of reads per chain that run without a caller. Settled history is saved, so a read that is refused
/// here continues with the next request.
pub(crate) const BACKGROUND_READS: usize = 32;
/// Maximum receipts per span. A span with more is read in parts, with checkpoints between them.
pub(crate) const RECEIPTS_PER_SPAN: usize = 500;
/// Concurrent requests for receipts per span.
pub(crate) const RECEIPT_REQUESTS: usize = 2;
/// Over at most this many blocks, hours to days, a wallet has few logs, so fewer queries with more results are cheaper.
pub(crate) const TAIL_BLOCKS: u64 = 20_000;
/// A long read saves settled history after this many ranges or this much time, which is the most that a crash can lose.
pub(crate) const CHECKPOINT_RANGES: u32 = 16;
pub(crate) const CHECKPOINT_TIME: Duration = Duration::from_secs(1);
/// Ranges after which wider ones are tried.
pub(crate) const RANGES_AT_ONE_WIDTH: usize = 32;
/// A history of fewer ranges is read from the node.
pub(crate) const RANGES_WITHOUT_SOURCE: u64 = 8;

/// Maximum contracts per log query, which common nodes and providers allow. More are asked for in another query.
pub(crate) const QUERY_ADDRESSES: usize = 1_000;
/// Maximum words for one topic of a log query. Nodes that limit them allow 1,000.
pub(crate) const QUERY_WORDS: usize = 500;

/// A second opinion on a history that two endpoints gave in turns asks for at most this many parts of it.
pub(crate) const OPINION_PARTS: usize = 8;

// Lists of the parts of a protocol.
/// Maximum log queries for one list.
pub(crate) const LIST_QUERIES: u32 = 64;
/// Parts in one answer of a list.
pub(crate) const LISTED_PER_SLICE: usize = 2_000;
/// Maximum parts of a protocol in which a wallet's position is read. Each costs about 5,000 gas.
pub(crate) const LISTED_PARTS: usize = 10_000;
/// Parts per contract call: about a million gas, and an answer of 16 kB.
pub(crate) const LISTED_PARTS_PER_CALL: usize = 250;

/// Maximum positions of a wallet that a protocol lists by owner. Each costs up to six calls.
pub(crate) const POSITIONS: usize = 500;

// Searches for changes without logs.
/// Maximum number of blocks per span that are looked up if the history is not followed.
pub(crate) const INCOMPLETE_BLOCKS: usize = 100;
/// Maximum number of blocks per span that are read as a whole because a log was left out. A contract that collects fees
/// has more: its tokens are minted without a log that names it.
pub(crate) const WHOLE_BLOCKS: usize = 10;
/// Maximum number of blocks with logs in one search; each costs three calls.
pub(crate) const LOGGED_BLOCKS: usize = 2_000;
/// Maximum number of unlogged changes in one search.
pub(crate) const UNLOGGED_CHANGES: usize = 64;
/// Maximum number of spans in one search in which only the index of rewards changed. Most such changes are claims of
/// rewards, and each costs a search.
pub(crate) const TOUCHED_SPANS: usize = 8;

// Caches, in entries.
/// Number of wallets whose parts are cached.
pub(crate) const CACHED_PARTS: u64 = 10_000;
/// Number of wallets whose records are cached.
pub(crate) const CACHED_RECORDS: u64 = 50_000;
/// Number of histories whose doubts are cached.
pub(crate) const CACHED_DOUBTS: u64 = 10_000;
