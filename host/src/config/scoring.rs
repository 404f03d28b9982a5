//! `[scoring]`: how long answers live.

use serde::Deserialize;

/// Cache lives of the contract, and how long a first read may hold up an answer.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoring {
    /// Life of what was read completely, in milliseconds (contract: 5 minutes).
    pub cache_ms: u64,
    /// Life of what was read incompletely, in milliseconds (contract: at most 30 seconds).
    pub incomplete_cache_ms: u64,
    /// Most snapshots kept in memory.
    pub cache_entries: u64,
    /// How long an answer waits for a first read before it says `pending`, in milliseconds.
    pub read_budget_ms: u64,
}
