//! How long snapshots are kept, and how long reading one may take.

use std::time::Duration;

/// The part of `[scoring]` that is about reading.
#[derive(Debug, Clone, Copy)]
pub struct Snapshots {
    /// Life of a snapshot that was read completely.
    pub complete: Duration,
    /// Life of a snapshot that was read incompletely.
    pub incomplete: Duration,
    /// Most snapshots kept in memory.
    pub entries: u64,
    /// Longest wait for a first read before its answer is `pending`.
    pub budget: Duration,
}
