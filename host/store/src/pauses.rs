//! Pauses and retries of the store.

use std::time::Duration;

// Redis.
/// Minimum and maximum pause between two attempts to connect; each pause is twice the one before.
pub(crate) const RECONNECT: Duration = Duration::from_millis(50);
pub(crate) const MAX_RECONNECT: Duration = Duration::from_secs(1);
/// Pause before a call is sent again, for example while another server becomes the master.
pub(crate) const COMMAND_RETRY: Duration = Duration::from_millis(50);
/// The pause after a request without an answer.
pub(crate) const RATES_RETRY: Duration = Duration::from_secs(1);
/// The pause between two checks.
pub(crate) const WATCH_RETRY: Duration = Duration::from_secs(1);
/// The pause before a refund that the server refuses is tried again.
pub(crate) const REFUND_RETRY: Duration = Duration::from_secs(1);
/// The timeout of refunds, which run in the background.
pub(crate) const REFUND_TIMEOUT: Duration = Duration::from_secs(120);
/// How long the outcome of a write is stored: far longer than any call waits.
pub(crate) const COMMIT_REMEMBERED: Duration = Duration::from_secs(300);

// The embedded store, while the disk is full or fails.
/// Pause between attempts to write again; longer if an attempt takes long, because readers wait for it.
pub(crate) const FULL_RETRY: Duration = Duration::from_secs(1);
/// Attempts take at most a fifth of the time.
pub(crate) const FULL_RETRY_SHARE: u32 = 4;
