//! Dollar prices of the native currency and the configured tokens of one chain: Chainlink feeds where configured, else the
//! oracles of its lending markets. One read is shared by all requests for a minute. What has no fresh price has none.

use std::{
    collections::HashMap,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use alloy::{primitives::Bytes, sol};
use tokio::sync::Mutex;

use super::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};
use crate::{
    config::ChainConfig,
    domain::{Address, U256},
};

sol! {
    #[derive(Debug)]
    function latestRoundData() external view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound);
    function decimals() external view returns (uint8 places);
    function getAssetPrice(address asset) external view returns (uint256 price);
}

/// A feed older than this, by the chain's own clock, has stopped: the longest heartbeat in use is a day, and a fifth is grace.
pub(super) const STALE: u64 = 24 * 3600 * 6 / 5;

/// Dollars for one whole token, by contract; `None` stands for the native currency.
pub(super) type Prices = HashMap<Option<Address>, f64>;

/// Where a price comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Feed(Address),
    /// The oracle's price of this asset.
    Oracle(Address),
}

/// The prices of one chain.
pub(super) struct PriceBook {
    wrapped: Option<Address>,
    sources: Vec<(Option<Address>, Source)>,
    life: Duration,
    latest: Mutex<Option<(Instant, Arc<Prices>)>>,
    places: OnceLock<HashMap<Address, u8>>,
}

impl PriceBook {
    pub(super) fn new(chain: &ChainConfig, life: Duration) -> Self {
        let native = chain.native.feed.map(Source::Feed).or(chain.native.wrapped.map(Source::Oracle));
        let tokens = chain.tokens.iter().map(|t| (Some(t.address), t.feed.map_or(Source::Oracle(t.address), Source::Feed)));
        let sources = native.map(|source| (None, source)).into_iter().chain(tokens).collect();
        Self { wrapped: chain.native.wrapped, sources, life, latest: Mutex::default(), places: OnceLock::new() }
    }

    /// Prices no older than the refresh interval, where they can be had also of `quotes`, which markets count in. Concurrent
    /// requests wait for one read.
    ///
    /// # Errors
    /// [`Fault`] where they have to be read and cannot be: older ones are not given in their place.
    pub(super) async fn current(
        &self,
        client: &Client,
        oracles: &[(Address, U256)],
        quotes: &[Address],
        head: Block,
    ) -> Result<Arc<Prices>, Fault> {
        let mut latest = self.latest.lock().await;
        if let Some((read, prices)) = &*latest
            && read.elapsed() < self.life
        {
            return Ok(prices.clone());
        }
        let prices = Arc::new(self.read(client, oracles, quotes, head).await?);
        *latest = Some((Instant::now(), prices.clone()));
        Ok(prices)
    }

    /// Dollar prices of tokens discovered in a wallet, from the external APIs alone; a token without an entry has none. Never
    /// fails: where no API is configured or answers, there are no prices.
    pub(super) async fn found(&self, _tokens: &[Address]) -> Prices {
        Prices::new()
    }

    /// Whether `prices`, found for `tokens`, lack one that was there lately: what is held of it is then worth more than it seems.
    pub(super) fn lost(&self, _tokens: &[Address], _prices: &Prices) -> bool {
        false
    }

    async fn read(&self, client: &Client, oracles: &[(Address, U256)], quotes: &[Address], head: Block) -> Result<Prices, Fault> {
        let sources = self.with(quotes);
        let mut calls = Vec::new();
        for (_, source) in &sources {
            match source {
                Source::Feed(feed) => calls.push(Call::new(*feed, &latestRoundDataCall {})),
                Source::Oracle(asset) => {
                    calls.extend(oracles.iter().map(|(oracle, _)| Call::new(*oracle, &getAssetPriceCall { asset: *asset })));
                }
            }
        }
        let rounds = calls.len();
        let feeds: Vec<Address> =
            self.sources.iter().filter_map(|(_, s)| if let Source::Feed(feed) = s { Some(*feed) } else { None }).collect();
        if self.places.get().is_none() {
            calls.extend(feeds.iter().map(|feed| Call::new(*feed, &decimalsCall {})));
        }
        if calls.is_empty() {
            return Ok(Prices::new());
        }
        let answers = client.calls(&calls, head.hash).await?;
        let (rounds, places) = answers.split_at(rounds.min(answers.len()));
        if !places.is_empty() {
            let found = feeds.iter().zip(places).filter_map(|(feed, answer)| Some((*feed, returned::<decimalsCall>(Some(answer))?)));
            // A concurrent reader cannot exist: the lock on the prices is held.
            let _ = self.places.set(found.collect());
        }
        let mut prices = self.priced(&sources, rounds, oracles, head.time);
        if let (Some(wrapped), Some(native)) = (self.wrapped, prices.get(&None).copied()) {
            prices.entry(Some(wrapped)).or_insert(native);
        }
        Ok(prices)
    }

    /// The configured sources, and the oracles for those of `quotes` that have none.
    fn with(&self, quotes: &[Address]) -> Vec<(Option<Address>, Source)> {
        let mut sources = self.sources.clone();
        for quote in quotes {
            if !sources.iter().any(|(asset, _)| *asset == Some(*quote)) {
                sources.push((Some(*quote), Source::Oracle(*quote)));
            }
        }
        sources
    }

    fn priced(&self, sources: &[(Option<Address>, Source)], answers: &[Option<Bytes>], oracles: &[(Address, U256)], now: u64) -> Prices {
        let mut answers = answers.iter();
        let mut prices = Prices::new();
        for (asset, source) in sources {
            let price = match source {
                Source::Feed(feed) => {
                    let round = returned::<latestRoundDataCall>(answers.next());
                    round.zip(self.places.get().and_then(|p| p.get(feed))).and_then(|(round, places)| from_feed(&round, *places, now))
                }
                // Every oracle takes its answer; the first that has a price gives it.
                Source::Oracle(_) => oracles.iter().fold(None, |found, (_, unit)| {
                    let price = returned::<getAssetPriceCall>(answers.next());
                    found.or(price.filter(|price| !price.is_zero()).map(|price| f64::from(price) / f64::from(*unit)))
                }),
            };
            if let Some(price) = price.filter(|price| price.is_finite() && *price > 0.0) {
                prices.insert(*asset, price);
            }
        }
        prices
    }
}

/// The dollar price of a round, if it is one and is fresh at `now`.
fn from_feed(round: &latestRoundDataReturn, places: u8, now: u64) -> Option<f64> {
    let answer = Some(round.answer).filter(|answer| answer.is_positive())?;
    let updated = u64::try_from(round.updatedAt).ok().filter(|updated| *updated > 0)?;
    let fresh = now.saturating_sub(updated) <= STALE;
    fresh.then(|| f64::from(answer.into_raw()) / 10f64.powi(i32::from(places)))
}

#[cfg(test)]
mod tests {
    use alloy::primitives::I256;

    use super::*;

    fn round(answer: i64, updated: u64) -> latestRoundDataReturn {
        latestRoundDataReturn {
            roundId: Default::default(),
            answer: I256::try_from(answer).unwrap(),
            startedAt: U256::ZERO,
            updatedAt: U256::from(updated),
            answeredInRound: Default::default(),
        }
    }

    #[test]
    fn only_a_fresh_positive_answer_is_a_price() {
        let now = 1_000_000;
        assert_eq!(from_feed(&round(250_000_000_000, now - 60), 8, now), Some(2_500.0));
        assert_eq!(from_feed(&round(250_000_000_000, now - STALE), 8, now), Some(2_500.0));
        for bad in [round(0, now), round(-1, now), round(5, 0), round(5, now - STALE - 1)] {
            assert_eq!(from_feed(&bad, 8, now), None, "{bad:?}");
        }
    }
}
