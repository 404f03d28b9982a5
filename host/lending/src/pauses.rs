//! Pauses and retries of reads of lending history.

use std::time::Duration;

/// First pause before logs are requested again from busy endpoints; doubled each time.
pub(crate) const BUSY: Duration = Duration::from_millis(500);
/// Maximum pause before logs are requested again.
pub(crate) const LONGEST_BUSY: Duration = Duration::from_secs(4);
/// A contradicted history is read once more at once. If it is contradicted again, it is read after this pause, which
/// then doubles each time, so a history that nothing explains costs little.
pub(crate) const DOUBT: Duration = Duration::from_secs(600);
/// Maximum pause before a contradicted history is read again.
pub(crate) const LONGEST_DOUBT: Duration = Duration::from_secs(86_400);
/// A read that took longer than this continues to the new head.
pub(crate) const LONG_READ: Duration = Duration::from_secs(20);
/// Maximum wait for an explorer that lists a first history.
pub(crate) const SOURCE_PATIENCE: Duration = Duration::from_secs(20);
/// The terms of markets are looked up again after this time.
pub(crate) const TERMS_LIFETIME: Duration = Duration::from_secs(3600);
/// The same if a market did not answer as its protocol should.
pub(crate) const INCOMPLETE_TERMS_LIFETIME: Duration = Duration::from_secs(60);
/// Older terms are not used: they may lack assets, or name a former oracle.
pub(crate) const TERMS_MAX_AGE: Duration = Duration::from_secs(6 * 3600);
