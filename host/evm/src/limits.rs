//! Limits of requests: number, size and time. Limits of concurrency and rate are in the configuration: `[reading.rpc]`,
//! `[outbound]`.

use std::time::Duration;

// Requests to endpoints.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum wait for the answer to a cheap request, or a quarter of the timeout if that is longer. Every read begins
/// with such a request, to move on to the next endpoint quickly.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_millis(2_500);
/// Calls per JSON-RPC batch, until an endpoint refuses that many.
pub(crate) const CALLS_PER_BATCH: usize = 100;
/// Contract calls per `aggregate3`. The most expensive use about 60,000 gas each; nodes allow 50 million per call.
pub(crate) const CALLS_PER_MULTICALL: usize = 250;
/// Maximum calls per request; several requests are sent concurrently.
pub(crate) const ASKS_PER_REQUEST: usize = 100;
/// Maximum requests per list. Further requests open the next list, which is sent while the readers of the first use
/// their answers.
pub(crate) const REQUESTS_PER_LIST: usize = 50;

// Contracts that strangers choose.
/// Maximum calls of contracts in one `eth_call`. The answers of this many ordinary tokens fit.
pub(crate) const STRANGER_CALLS: usize = 120;
/// Maximum calls in one JSON-RPC batch. Eight calls that use up all their gas take a node a second.
pub(crate) const STRANGER_BATCH: usize = 8;
/// Maximum calls in one JSON-RPC batch, if each calls one contract.
pub(crate) const SEPARATE_BATCH: usize = 50;
/// Maximum size of an answer that depends on contracts that strangers chose, in bytes.
pub(crate) const STRANGER_ANSWER: usize = 512 << 10;

// Answers.
/// Maximum size of an answer that needs no permit: all but long histories.
pub(crate) const SMALL_ANSWER: usize = 128 << 10;
/// Bytes per second below which an answer does not keep a permit.
pub(crate) const SLOWEST_ANSWER: usize = 256 << 10;
/// Maximum size, in bytes, of a text instead of an answer whose words are considered.
pub(crate) const ERROR_TEXT: usize = 2 << 10;
/// Maximum size, in bytes, of an error's data whose words are considered.
pub(crate) const ERROR_DATA: usize = 2 << 10;

// Fetches from URLs that third parties publish.
/// Maximum redirects.
pub(crate) const REDIRECTS: usize = 3;
/// Maximum URL length, in bytes; servers accept no longer ones.
pub(crate) const URL_LENGTH: usize = 8_192;
