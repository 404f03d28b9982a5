//! The lifetimes of snapshots, and the time that reading one may take.

use std::time::Duration;

/// The settings of `[scoring]` that are about reading.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// Lifetime of a complete snapshot.
    pub complete: Duration,
    /// Lifetime of an incomplete snapshot.
    pub incomplete: Duration,
    /// Largest number of snapshots in memory.
    pub entries: u64,
    /// Longest wait for a first read; after it, the answer is `pending`.
    pub budget: Duration,
    /// The moment in the past, in Unix seconds, before which the chains are read; `None` for their heads.
    pub past: Option<u64>,
}
