//! Pauses and retries of requests to endpoints.

use std::time::Duration;

// Retries of one request.
/// First pause before a retry; doubled each time, minus up to half of it at random.
pub(crate) const BACKOFF: Duration = Duration::from_millis(100);
pub(crate) const MAX_BACKOFF: Duration = Duration::from_secs(3);
/// Behind a load balancer, a node that does not know a block yet learns it within a moment, or never.
pub(crate) const UNKNOWN_BLOCK_RETRIES: u32 = 2;
/// The same for the last endpoint, whose nodes may be some blocks behind each other.
pub(crate) const LAST_ENDPOINT_RETRIES: u32 = 4;
/// Maximum timeouts and unknown errors of one span of logs, which is cut in eight after each, before it is a gap. An
/// endpoint that does not answer must not cost one timeout per halving.
pub(crate) const SPAN_FAILURES: u32 = 3;
/// Maximum wait that a `Retry-After` header can cause.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_secs(10);

// An endpoint that fails, or is behind.
/// First pause of an endpoint after a failure; doubled each time.
pub(crate) const FAILURE: Duration = Duration::from_secs(1);
pub(crate) const MAX_FAILURE: Duration = Duration::from_secs(30);
/// An endpoint of another chain is checked again after this time, as its operator may have corrected it.
pub(crate) const WRONG_CHAIN: Duration = Duration::from_secs(60);
/// Maximum wait for the `eth_chainId` request.
pub(crate) const CHAIN_ID_PATIENCE: Duration = Duration::from_secs(2);
/// Time between two comparisons of the heads of all endpoints, which find an endpoint that is behind.
pub(crate) const HEAD_COMPARISON: Duration = Duration::from_secs(10);
/// Additional requests for the head if an endpoint seems to be behind. Behind one URL, the next node may be further.
pub(crate) const HEAD_RETRIES: u32 = 3;
/// Maximum wait for a turn at an endpoint that has a successor.
pub(crate) const ENDPOINT_PATIENCE: Duration = Duration::from_secs(2);
/// Maximum wait for a turn at the last endpoint.
pub(crate) const LAST_ENDPOINT_PATIENCE: Duration = Duration::from_secs(20);

// Queues, rates and batches.
/// Maximum wait for a request of a higher rank to report that it was sent.
pub(crate) const QUEUE_YIELD: Duration = Duration::from_secs(1);
/// Requests take different times to arrive: those sent within more than a second may arrive within one.
pub(crate) const RATE_MARGIN: Duration = Duration::from_millis(100);
/// Endpoints count per second.
pub(crate) const RATE_WINDOW: Duration = Duration::from_secs(1).saturating_add(RATE_MARGIN);
/// Pause after a refusal without `Retry-After`; doubled each time.
pub(crate) const RATE_HOLD: Duration = RATE_WINDOW;
pub(crate) const MAX_RATE_HOLD: Duration = Duration::from_secs(8);
/// A list waits in pauses of this length, until one brings no request. The first pause has the request that opened it.
pub(crate) const GATHER: Duration = Duration::from_millis(4);
/// Maximum number of pauses, even if requests keep arriving.
pub(crate) const MAX_GATHERS: usize = 8;
