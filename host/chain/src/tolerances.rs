//! Tolerances of prices: how old, how far ahead of the clock and how unlikely a price may be. Feeds have a heartbeat in
//! the configuration.

/// Maximum lead of a feed's round over the chain's head, in seconds: an endpoint behind a load balancer may answer
/// from a newer block.
pub(crate) const FEED_AHEAD: u64 = 300;
/// The wait after the sequencer comes back that Chainlink's documentation recommends, in seconds.
pub(crate) const SEQUENCER_GRACE: u64 = 3_600;
/// Maximum age of an API's price, in seconds. The APIs' default of six hours would value a wallet at prices from an
/// earlier part of the day.
pub(crate) const API_MAX_AGE: u64 = 3_600;
/// Maximum time that an API's price may be ahead of this host's clock, in seconds.
pub(crate) const API_AHEAD: u64 = 300;
/// No token is worth more; a wrong price above this would dominate every sum.
pub(crate) const MAX_DOLLARS: f64 = 1e9;
/// Minimum confidence of a price. DefiLlama gives 0.99 to assets that exchanges list, and less to prices from pools, by
/// their depth: the owner of a shallow pool can set any price.
pub(crate) const LEAST_CONFIDENCE: f64 = 0.9;
