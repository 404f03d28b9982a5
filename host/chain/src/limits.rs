//! Limits of reads of a chain and of its sources: number, size and time.

use std::time::Duration;

// Concurrent reads.
/// Maximum concurrent reads of a chain's state; further reads wait. Concurrent reads share the endpoints' capacity: of
/// a thousand, none would end before all do.
pub(crate) const READS: u32 = 32;
/// Reads at once from which they share requests, as those of a batch do: each round trip begins some milliseconds
/// later, and most requests serve several wallets.
pub(crate) const CROWD: usize = 4;
/// Requests per second that one read of state can use. An endpoint with a lower rate is read for one wallet at a time,
/// because several at once would all end late.
pub(crate) const RATE_PER_READ: f64 = 10.0;
/// Maximum waiting wallets. Any other wallet is read again for its next caller.
pub(crate) const LATE_READS: usize = 1_000;
/// Maximum running listings per chain. Explorers allow few calls, so further ones would only wait for each other.
pub(crate) const RUNNING_LISTINGS: usize = 16;
/// Maximum running and waiting listings per chain. Above it, callers get what is stored.
pub(crate) const LISTINGS: usize = 128;
/// Maximum concurrent searches for first and last transactions per chain: several batches of a hundred wallets, which
/// share their rounds of requests. Each search has one round in flight.
pub(crate) const SEARCHES: usize = 512;
/// Accounts whose nonce without code is remembered, 100 bytes each.
pub(crate) const PLAIN_ACCOUNTS: u64 = 50_000;

// Time.
/// Timeout of a read without callers.
pub(crate) const LATE_READ: Duration = Duration::from_secs(600);
/// Timeout of a background request for a chain's head, which may also look up the markets.
pub(crate) const WATCH: Duration = Duration::from_secs(15);
/// Timeout of a name. It is shorter than a request's, which reads the address next.
pub(crate) const NAME: Duration = Duration::from_secs(10);

// Explorers and price APIs.
/// Maximum response of an explorer, about ten times a page of rows.
pub(crate) const EXPLORER_BODY: usize = 16 << 20;
/// Maximum pages of a list of transactions or transfers in one read, about 25,000 rows.
pub(crate) const PAGES_PER_LIST: u32 = 25;
/// Maximum pages of a list of logs, about 25,000 rows.
pub(crate) const PAGES_OF_LOGS: usize = 25;
/// Maximum wait of a caller for a round of requests, its own or an earlier one: well within a read's time.
pub(crate) const PRICES_ROUND: Duration = Duration::from_secs(4);
/// Maximum tokens that wait for the next round; a caller with more requests them itself.
pub(crate) const PRICES_WAITING: usize = 2_000;
/// Maximum cached prices, 100 bytes each.
pub(crate) const CACHED_PRICES: u64 = 200_000;
/// Timeout of one response of a price API.
pub(crate) const PRICES_RESPONSE: Duration = Duration::from_millis(1_500);
/// Maximum tokens per request to a price API. 100 addresses take about 5,000 characters of URL; servers commonly accept
/// 8,000.
pub(crate) const TOKENS_PER_REQUEST: usize = 100;
/// Maximum concurrent requests to a price API.
pub(crate) const PRICES_REQUESTS: usize = 4;
/// Maximum response of a price API; 100 tokens take 20,000 bytes.
pub(crate) const PRICES_BODY: usize = 1 << 20;

// Lookups of a wallet.
/// Maximum token contracts kept, the newest ones: each read requests as many balances.
pub(crate) const LISTED_TOKENS: usize = 1_000;
/// Maximum non-fungible tokens kept, the newest ones.
pub(crate) const LISTED_NFTS: usize = 100;
/// Maximum labels of a name that are searched for a resolver: each is a call, and no real name has more.
pub(crate) const LABELS: usize = 16;
/// Maximum number of successive lookups, from the standard.
pub(crate) const OFFCHAIN_LOOKUPS: usize = 4;
/// Maximum number of gateways queried for one answer. A lookup may name more.
pub(crate) const GATEWAYS: usize = 4;
/// Maximum length of a gateway's template, and of the data that replaces `{data}` in it. A longer URL is not fetched.
pub(crate) const GATEWAY_TEMPLATE: usize = 8_192;
