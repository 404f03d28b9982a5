//! Dollar prices of one chain. The native currency and the configured tokens are priced by their Chainlink feed, else
//! by the oracles of the lending markets, else by an external API; tokens discovered in a wallet only by the external
//! API. Requests within the refresh interval share a read. An asset without a fresh price has no price; the result
//! says whether one was expected.
//!
//! While the sequencer of a rollup is down, and for an hour after, neither feeds nor oracles are trusted, because the
//! oracles read the same feeds.

mod external;
mod feed;
mod on_chain;
mod oracle;
mod sequencer;

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::Mutex;

use self::{
    on_chain::{OnChainPrices, Sources},
    oracle::Oracle,
};
use crate::config::ChainConfig;
use assay_domain::{Address, ChainId, Prices};
use assay_evm::{
    client::{Block, Client},
    fault::Fault,
};

pub(super) use external::{ExternalPrices, FoundPrices};
pub use feed::{decimalsCall, latestRoundDataCall, stale_after};
pub use sequencer::{Sequencer, sequencer_state};

/// An asset that can have a price: a token, or the native currency (`None`).
type Priced = Option<Address>;

/// The prices of one moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Quotes {
    pub prices: Prices,
    /// Assets without a price that should have one: a source is configured, or they had a price recently.
    pub lacking: HashSet<Priced>,
    /// Whether feeds and oracles are trusted, including as the prices by which markets value positions.
    pub trusted: bool,
    /// The block in whose state feeds and oracles were read; `None` if they were not.
    pub block: Option<Block>,
    /// Whether any price comes from an external API.
    pub is_external: bool,
}

impl Quotes {
    /// The prices of the chain's sources, completed with those `found`.
    fn new(sources: &Sources, on_chain: &OnChainPrices, quotes: &[Address], found: &FoundPrices) -> Self {
        let (mut prices, mut lacking, mut is_external) = (on_chain.prices.clone(), HashSet::new(), false);
        for (asset, _) in sources.assets(quotes) {
            if prices.contains_key(&asset) {
                continue;
            }
            let token = sources.token(asset);
            let is_unknown = || token.is_some_and(|token| found.lacking.contains(&token));
            match token.and_then(|token| found.prices.get(&Some(token))) {
                Some(price) => (_, is_external) = (prices.insert(asset, *price), true),
                None if on_chain.sourced.contains(&asset) || is_unknown() => _ = lacking.insert(asset),
                None => {}
            }
        }
        Self { prices, lacking, trusted: on_chain.trusted, block: on_chain.block, is_external }
    }
}

/// The chain state at which prices are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pricing {
    /// Its block.
    pub at: Block,
    /// The moment, in Unix seconds, at which the age of rounds is measured.
    pub now: u64,
    /// Whether the block may not be the newest. Prices at such a block are reused only while this lasts.
    pub is_doubted: bool,
}

/// The last read of the chain's sources, for callers with the same oracles and quote tokens: a read without a market's
/// oracle lacks the assets that the oracle lists.
struct Latest {
    at: Instant,
    is_doubted: bool,
    oracles: Vec<Oracle>,
    quotes: Vec<Address>,
    on_chain: Arc<OnChainPrices>,
}

/// The last read of a chain's prices, for operators.
#[derive(Debug, Clone, Copy)]
pub struct PriceStatus {
    /// Time of the read, in Unix seconds.
    pub read_at: u64,
    /// Assets that feeds and oracles priced, and assets with such a source but without a price.
    pub priced: usize,
    pub lacking: usize,
    /// Feeds without a fresh price.
    pub stale_feeds: usize,
    /// Time of the oldest feed round in use, in Unix seconds; `None` without one.
    pub oldest_round: Option<u64>,
    /// False while the sequencer of a rollup is not known to be up.
    pub trusted: bool,
}

impl PriceStatus {
    fn of(read_at: u64, on_chain: &OnChainPrices) -> Self {
        let lacking = on_chain.sourced.iter().filter(|asset| !on_chain.prices.contains_key(*asset));
        Self {
            read_at,
            priced: on_chain.prices.len(),
            lacking: lacking.count(),
            stale_feeds: on_chain.stale_feeds,
            oldest_round: on_chain.oldest_round,
            trusted: on_chain.trusted,
        }
    }
}

/// Reads the prices of one chain.
pub(super) struct PriceReader {
    chain: ChainId,
    sources: Sources,
    lifetime: Duration,
    latest: Mutex<Option<Latest>>,
    /// The last read of [`native`](Self::native), which asks no oracle.
    native: Mutex<Option<(Instant, Option<f64>)>>,
    /// Status of the latest read; a read in progress does not lock it.
    status: std::sync::Mutex<Option<PriceStatus>>,
    external: Arc<ExternalPrices>,
}

impl PriceReader {
    pub(super) fn new(chain: &ChainConfig, external: &Arc<ExternalPrices>) -> Self {
        Self {
            chain: chain.id,
            sources: Sources::new(chain),
            lifetime: external.lifetime(),
            latest: Mutex::default(),
            native: Mutex::default(),
            status: std::sync::Mutex::default(),
            external: external.clone(),
        }
    }

    /// The last read; `None` before the first one.
    pub(super) fn status(&self) -> Option<PriceStatus> {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prices no older than the refresh interval, including those of `quotes`, the quote tokens of the markets.
    /// Concurrent callers share one read. If the chain does not answer, the external APIs are still queried.
    pub(super) async fn current(
        &self,
        client: &Client,
        oracles: &[Oracle],
        quotes: &[Address],
        pricing: Pricing,
    ) -> Quotes {
        let read = self.on_chain(client, oracles, quotes, pricing).await;
        let on_chain = read.unwrap_or_else(|fault| {
            tracing::warn!(chain = self.chain, %fault, "feeds and oracles cannot be read");
            Arc::new(self.sources.unread())
        });
        self.completed(&on_chain, quotes).await
    }

    /// The dollar price of the native currency by its feed, no older than the refresh interval; `None` if it has no
    /// feed, or the feed has no fresh price.
    pub(super) async fn native(&self, client: &Client) -> Option<f64> {
        let mut native = self.native.lock().await;
        if let Some((at, price)) = *native
            && at.elapsed() < self.lifetime
        {
            return price;
        }
        let read = async {
            let head = client.head().await?;
            self.sources.native().read(client, &[], &[], head, head.time).await
        };
        let read: Result<OnChainPrices, Fault> = read.await;
        let price = read.map(|on_chain| on_chain.prices.get(&None).map(|price| price.usd));
        let price = price.unwrap_or_else(|fault| {
            tracing::warn!(chain = self.chain, %fault, "the feed of the native currency cannot be read");
            None
        });
        *native = Some((Instant::now(), price));
        price
    }

    /// Dollar prices of tokens discovered in a wallet, only from the external APIs. Never fails: if no API is
    /// configured, there are no prices.
    pub(super) async fn found(&self, tokens: &[Address]) -> FoundPrices {
        self.external.prices(self.chain, tokens).await
    }

    /// The prices of the chain, completed with those of the external APIs.
    async fn completed(&self, on_chain: &OnChainPrices, quotes: &[Address]) -> Quotes {
        let tokens = self.sources.unpriced(on_chain, quotes);
        let found = if tokens.is_empty() { FoundPrices::default() } else { self.found(&tokens).await };
        Quotes::new(&self.sources, on_chain, quotes, &found)
    }

    async fn on_chain(
        &self,
        client: &Client,
        oracles: &[Oracle],
        quotes: &[Address],
        Pricing { at, now, is_doubted }: Pricing,
    ) -> Result<Arc<OnChainPrices>, Fault> {
        let mut latest = self.latest.lock().await;
        if let Some(last) = &*latest
            && last.at.elapsed() < self.lifetime
            && (is_doubted || !last.is_doubted)
            && (last.oracles.as_slice(), last.quotes.as_slice()) == (oracles, quotes)
        {
            return Ok(last.on_chain.clone());
        }
        let on_chain = Arc::new(self.sources.read(client, oracles, quotes, at, now).await?);
        let read_at = u64::try_from(chrono::Utc::now().timestamp()).unwrap_or_default();
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = Some(PriceStatus::of(read_at, &on_chain));
        *latest = Some(Latest {
            at: Instant::now(),
            is_doubted,
            oracles: oracles.to_vec(),
            quotes: quotes.to_vec(),
            on_chain: on_chain.clone(),
        });
        Ok(on_chain)
    }
}

fn count(chain: ChainId, source: &'static str) {
    metrics::counter!("assay_prices_read_total", "chain" => chain.to_string(), "source" => source).increment(1);
}

/// Helpers for tests that need prices: the calls to a chain's price sources, and the prices in their answers.
#[cfg(test)]
pub(crate) mod pure {
    use super::{Address, ChainConfig, FoundPrices, Oracle, Quotes, Sources};
    use alloy::primitives::Bytes;
    use assay_evm::call::Call;

    pub fn calls(chain: &ChainConfig, oracles: &[Oracle], quotes: &[Address]) -> Vec<Call> {
        Sources::new(chain).calls(oracles, quotes)
    }

    pub fn quotes(
        chain: &ChainConfig,
        oracles: &[Oracle],
        quotes: &[Address],
        now: u64,
        answers: &[Option<Bytes>],
    ) -> Quotes {
        let sources = Sources::new(chain);
        Quotes::new(&sources, &sources.answered(oracles, quotes, now, answers), quotes, &FoundPrices::default())
    }
}
