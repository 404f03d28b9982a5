//! Pauses and retries of requests to explorers, price APIs and name contracts.

use std::time::Duration;

// Explorers.
/// Retries of a request to an explorer.
pub(crate) const EXPLORER_RETRIES: u32 = 4;
/// Pause before the first retry; doubled each time.
pub(crate) const EXPLORER_BACKOFF: Duration = Duration::from_millis(250);
/// Maximum `Retry-After` of an explorer.
pub(crate) const MAX_EXPLORER_RETRY_AFTER: Duration = Duration::from_secs(10);
/// Pause of an explorer after a denied key: hosts block a client that repeats a wrong key.
pub(crate) const EXPLORER_DENIED: Duration = Duration::from_secs(600);
/// Pause of an explorer after failed retries.
pub(crate) const EXPLORER_FAILED: Duration = Duration::from_secs(20);

// Price APIs.
/// Pause of a price API after a failure, unless the API names one.
pub(crate) const PRICES_FAILED: Duration = Duration::from_secs(5);
/// Maximum `Retry-After` of a price API.
pub(crate) const MAX_PRICES_RETRY_AFTER: Duration = Duration::from_secs(300);

// Chains.
/// Interval of background requests for a chain's head.
pub(crate) const WATCH_INTERVAL: Duration = Duration::from_secs(30);
/// How long the finding is valid that an endpoint keeps old state, or keeps none.
pub(crate) const OLD_STATE_VERDICT: Duration = Duration::from_secs(3_600);
/// Minimum time between two writes of the newest head.
pub(crate) const HEAD_WRITES: Duration = Duration::from_secs(10);
/// Pause before a wallet is searched again for which no endpoint keeps the old state.
pub(crate) const SEARCH_WITHOUT_STATE: Duration = Duration::from_secs(3_600);
/// Pause after an endpoint refused log queries for token transfers.
pub(crate) const LOGS_REFUSED: Duration = Duration::from_secs(3_600);
/// Pause before a missing identity contract is looked up again.
pub(crate) const IDENTITY_CONTRACT: Duration = Duration::from_secs(600);
/// Pause before a missing name contract is looked up again.
pub(crate) const NAME_CONTRACT: Duration = Duration::from_secs(600);
