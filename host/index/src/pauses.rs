//! Pauses and retries of the task that reads the index.

use std::time::Duration;

/// Time between two rounds.
pub(crate) const ROUND: Duration = Duration::from_secs(5);
/// Time before the next round after a failure.
pub(crate) const FAILURE: Duration = Duration::from_secs(15);
/// Time between two checks whether the endpoint refused a range, which makes an index useful.
pub(crate) const USEFUL_LOOK: Duration = Duration::from_secs(5);
/// New blocks are read at the latest after this time, and before it once there are enough of them.
pub(crate) const LATEST: Duration = Duration::from_secs(30);
/// Maximum wait for a market that does not answer as its protocol should, before the index begins without it.
pub(crate) const MARKET_PATIENCE: Duration = Duration::from_secs(300);
/// Pause between attempts to open a folder that another process holds.
pub(crate) const FOLDER_HELD: Duration = Duration::from_millis(500);
/// Attempts: a process that has just ended may still hold the folder for a moment.
pub(crate) const FOLDER_TRIES: u32 = 20;
