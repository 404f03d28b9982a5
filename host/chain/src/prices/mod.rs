//! Dollar prices of one chain. The native currency and the configured tokens are priced by their Chainlink feed, else
//! by the oracles of the lending markets, else by an external API; what was found in a wallet, by the external API
//! alone. One read is shared by all requests for a minute. What has no fresh price has none, and whether that is
//! unusual is told beside it.
//!
//! Where the sequencer of a rollup is down, or has been back for less than an hour, neither feeds nor oracles are
//! believed: the oracles read the same feeds.

mod external;
mod feed;
mod oracle;
mod sequencer;

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use alloy::primitives::Bytes;
use tokio::sync::Mutex;

use self::{feed::Feed, oracle::Oracle};
use crate::config::ChainConfig;
use assay_domain::{Address, ChainId, Prices};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};

pub(super) use external::External;
pub use feed::{decimalsCall, latestRoundDataCall, stale_after};
pub use sequencer::{Sequencer, stands};

/// Something with a price: a token, or the native currency.
type Priced = Option<Address>;

/// The prices of a moment.
#[derive(Debug, Clone, Default)]
pub(super) struct Quotes {
    pub prices: Prices,
    /// What has no price now and should: a source is configured for it, or it had a price lately.
    pub lacking: HashSet<Priced>,
    /// The chain's own feeds and oracles can be believed, also by whoever values a position with them.
    pub trusted: bool,
}

/// What the chain itself says.
#[derive(Debug, Default)]
struct OnChain {
    prices: Prices,
    /// What a feed or an oracle should have a price for.
    sourced: HashSet<Priced>,
    trusted: bool,
}

/// The last read. It serves whoever would ask the same: one that lacked a market's oracle says nothing of what that
/// lists.
struct Latest {
    at: Instant,
    oracles: Vec<Oracle>,
    quotes: Vec<Address>,
    on_chain: Arc<OnChain>,
}

/// The prices of one chain.
pub(super) struct PriceBook {
    chain: ChainId,
    wrapped: Option<Address>,
    /// The native currency and the configured tokens, with their feeds.
    assets: Vec<(Priced, Option<Feed>)>,
    sequencer: Option<Address>,
    life: Duration,
    latest: Mutex<Option<Latest>>,
    external: Arc<External>,
}

impl PriceBook {
    pub(super) fn new(chain: &ChainConfig, external: &Arc<External>) -> Self {
        let feed = |address: Option<Address>, heartbeat: Duration| {
            address.map(|address| Feed { address, heartbeat: heartbeat.as_secs() })
        };
        let native = (None, feed(chain.native.feed, chain.native.heartbeat));
        let tokens = chain.tokens.iter().map(|token| (Some(token.address), feed(token.feed, token.heartbeat)));
        Self {
            chain: chain.id,
            wrapped: chain.native.wrapped,
            assets: std::iter::once(native).chain(tokens).collect(),
            sequencer: chain.sequencer,
            life: external.life(),
            latest: Mutex::default(),
            external: external.clone(),
        }
    }

    /// Prices no older than the refresh interval, where they can be had also of `quotes`, which markets count in.
    /// Concurrent requests wait for one read. Where the chain does not answer, the external APIs are left.
    pub(super) async fn current(&self, client: &Client, oracles: &[Oracle], quotes: &[Address], head: Block) -> Quotes {
        let read = self.on_chain(client, oracles, quotes, head).await;
        let on_chain = read.unwrap_or_else(|fault| {
            tracing::warn!(chain = self.chain, %fault, "feeds and oracles cannot be read");
            // Which of them have a price is not known, so that none may be missing unsaid.
            let sourced = self.assets.iter().map(|(asset, _)| *asset).collect();
            Arc::new(OnChain { sourced, ..OnChain::default() })
        });
        self.completed(&on_chain, quotes).await
    }

    /// Dollar prices of tokens discovered in a wallet, from the external APIs alone; a token without an entry has none.
    /// Never fails: where no API is configured or answers, there are no prices.
    pub(super) async fn found(&self, tokens: &[Address]) -> Prices {
        self.external.prices(self.chain, tokens).await.into_iter().map(|(token, price)| (Some(token), price)).collect()
    }

    /// Whether `prices`, found for `tokens`, lack one that was there lately: what is held of it is then worth more than
    /// it seems.
    pub(super) fn lost(&self, tokens: &[Address], prices: &Prices) -> bool {
        tokens.iter().any(|token| !prices.contains_key(&Some(*token)) && self.external.knew(self.chain, *token))
    }

    /// What the chain says, and the external APIs on what it does not.
    async fn completed(&self, on_chain: &OnChain, quotes: &[Address]) -> Quotes {
        let mut prices = on_chain.prices.clone();
        let missing: Vec<Priced> =
            self.with(quotes).into_iter().map(|(asset, _)| asset).filter(|asset| !prices.contains_key(asset)).collect();
        let tokens: Vec<Address> = missing.iter().filter_map(|asset| self.token(*asset)).collect();
        let found = if tokens.is_empty() { Prices::new() } else { self.found(&tokens).await };
        let mut lacking = HashSet::new();
        for asset in missing {
            let token = self.token(asset);
            match token.and_then(|token| found.get(&Some(token))) {
                Some(price) => _ = prices.insert(asset, *price),
                None if on_chain.sourced.contains(&asset)
                    || self.external.is_failing(self.chain)
                    || token.is_some_and(|token| self.lost(&[token], &found)) =>
                {
                    lacking.insert(asset);
                }
                None => {}
            }
        }
        Quotes { prices, lacking, trusted: on_chain.trusted }
    }

    async fn on_chain(
        &self,
        client: &Client,
        oracles: &[Oracle],
        quotes: &[Address],
        head: Block,
    ) -> Result<Arc<OnChain>, Fault> {
        let mut latest = self.latest.lock().await;
        if let Some(last) = &*latest
            && last.at.elapsed() < self.life
            && (last.oracles.as_slice(), last.quotes.as_slice()) == (oracles, quotes)
        {
            return Ok(last.on_chain.clone());
        }
        let on_chain = Arc::new(self.read(client, oracles, quotes, head).await?);
        *latest = Some(Latest {
            at: Instant::now(),
            oracles: oracles.to_vec(),
            quotes: quotes.to_vec(),
            on_chain: on_chain.clone(),
        });
        Ok(on_chain)
    }

    async fn read(
        &self,
        client: &Client,
        oracles: &[Oracle],
        quotes: &[Address],
        head: Block,
    ) -> Result<OnChain, Fault> {
        let assets = self.with(quotes);
        let mut calls: Vec<Call> =
            self.sequencer.iter().map(|sequencer| Call::new(*sequencer, &latestRoundDataCall {})).collect();
        for (asset, feed) in &assets {
            calls.extend(feed.iter().flat_map(Feed::ask));
            calls.extend(self.token(*asset).into_iter().flat_map(|token| oracle::ask(oracles, token)));
        }
        let answers = if calls.is_empty() { Vec::new() } else { client.calls(&calls, head.hash).await? };
        let mut answers = answers.iter();
        let trusted = self.sequencer.is_none_or(|_| self.is_up(answers.next(), head.time));
        let mut on_chain = OnChain { trusted, ..OnChain::default() };
        for (asset, feed) in &assets {
            let by_feed = feed.and_then(|feed| feed.price(&mut answers, head.time));
            let quote = self.token(*asset).map(|_| oracle::quote(oracles, &mut answers)).unwrap_or_default();
            if feed.is_some() || quote.listed {
                on_chain.sourced.insert(*asset);
            }
            if let Some((price, source)) =
                by_feed.map(|price| (price, "feed")).or(quote.price.map(|price| (price, "oracle")))
                && trusted
                && price.is_finite()
                && price > 0.0
            {
                on_chain.prices.insert(*asset, price);
                self.count(source);
            }
            if feed.is_some() && by_feed.is_none() {
                tracing::warn!(chain = self.chain, token = ?asset, "a price feed has no fresh price");
                self.count("stale_feed");
            }
        }
        if let Some(wrapped) = self.wrapped {
            if on_chain.sourced.contains(&None) {
                on_chain.sourced.insert(Some(wrapped));
            }
            if let Some(native) = on_chain.prices.get(&None).copied() {
                on_chain.prices.entry(Some(wrapped)).or_insert(native);
            }
        }
        Ok(on_chain)
    }

    /// What the uptime feed's answer says of the sequencer.
    fn is_up(&self, answer: Option<&Option<Bytes>>, now: u64) -> bool {
        let standing = returned::<latestRoundDataCall>(answer).map_or(Sequencer::Unknown, |round| stands(&round, now));
        if standing != Sequencer::Up {
            tracing::warn!(
                chain = self.chain,
                ?standing,
                "the sequencer is not known to be up; its chain's feeds and oracles are not believed"
            );
            self.count("sequencer_down");
        }
        standing == Sequencer::Up
    }

    /// The native currency and the configured tokens, and those of `quotes` that are none of them.
    fn with(&self, quotes: &[Address]) -> Vec<(Priced, Option<Feed>)> {
        let mut assets = self.assets.clone();
        for quote in quotes {
            if !assets.iter().any(|(asset, _)| *asset == Some(*quote)) {
                assets.push((Some(*quote), None));
            }
        }
        assets
    }

    /// The token that stands for `asset` where there are only tokens: the native currency is worth what its wrapped
    /// form is.
    fn token(&self, asset: Priced) -> Option<Address> {
        asset.or(self.wrapped)
    }

    fn count(&self, source: &'static str) {
        metrics::counter!("assay_prices_read_total", "chain" => self.chain.to_string(), "source" => source)
            .increment(1);
    }
}
