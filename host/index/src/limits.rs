//! Limits of the index: sizes of reads and writes. The database has limits of memory and files in `folder/database.rs`.

// One round of reading.
/// Logs whose entries are appended together, as far as ranges allow: entries wait in memory.
pub(crate) const LOGS_PER_APPEND: usize = 150_000;
/// Ranges that are appended together, which is the most that a kill can lose.
pub(crate) const RANGES_PER_APPEND: usize = 64;
/// Logs that a range should have. The width of a range follows from the ranges before it.
pub(crate) const LOGS_PER_RANGE: usize = 2_000;
/// The widest range: an endpoint without limits still has to answer it in time.
pub(crate) const WIDEST_RANGE: u64 = 200_000;
/// Ranges that are read before their width is changed.
pub(crate) const RANGES_AT_ONE_WIDTH: usize = 32;

// Writes.
/// Maximum entries in one value, unless more are in one block.
pub(crate) const ENTRIES_PER_VALUE: usize = 1_000;
/// Removals per write.
pub(crate) const REMOVALS_PER_WRITE: usize = 10_000;
/// Segments per write.
pub(crate) const SEGMENTS_PER_WRITE: usize = 20_000;
/// Smaller batches are committed through the journal.
pub(crate) const JOURNALED_BYTES: usize = 2 << 20;
