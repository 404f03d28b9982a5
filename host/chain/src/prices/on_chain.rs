//! Prices from the chain itself: Chainlink feeds first, then the oracles of the lending markets, in one request.

use std::{collections::HashSet, time::Duration};

use alloy::primitives::Bytes;

use super::{
    Priced, count,
    feed::{Feed, latestRoundDataCall},
    oracle::{self, Oracle},
    sequencer::{Sequencer, sequencer_state},
};
use crate::config::ChainConfig;
use assay_domain::{Address, ChainId, Price, PriceSource, Prices};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    fault::Fault,
};

/// The sources of one chain.
pub(super) struct Sources {
    chain: ChainId,
    wrapped: Option<Address>,
    /// The native currency and the configured tokens, with their feeds.
    assets: Vec<(Priced, Option<Feed>)>,
    sequencer: Option<Address>,
}

/// The prices of one read.
#[derive(Debug, Default)]
pub(super) struct OnChainPrices {
    pub prices: Prices,
    /// What a feed or an oracle should have a price for.
    pub sourced: HashSet<Priced>,
    /// The sequencer is up: feeds and oracles are believed.
    pub trusted: bool,
    /// The block of the read.
    pub block: Option<Block>,
    /// The oldest round of a feed that is a price, in Unix seconds.
    pub oldest_round: Option<u64>,
    /// Feeds without a fresh price.
    pub stale_feeds: usize,
}

impl Sources {
    pub(super) fn new(chain: &ChainConfig) -> Self {
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
        }
    }

    /// Only the source of the native currency.
    pub(super) fn native(&self) -> Self {
        let assets = self.assets.iter().filter(|(asset, _)| asset.is_none()).copied().collect();
        Self { chain: self.chain, wrapped: None, assets, sequencer: self.sequencer }
    }

    /// Reads the prices of the configured assets and of `quotes` in the state after block `at`. Rounds are dated
    /// against `now`.
    ///
    /// # Errors
    /// [`Fault`] if the chain does not answer.
    pub(super) async fn read(
        &self,
        client: &Client,
        oracles: &[Oracle],
        quotes: &[Address],
        at: Block,
        now: u64,
    ) -> Result<OnChainPrices, Fault> {
        let calls = self.calls(oracles, quotes);
        let answers = if calls.is_empty() { Vec::new() } else { client.calls(&calls, at.hash).await? };
        Ok(OnChainPrices { block: Some(at), ..self.answered(oracles, quotes, now, &answers) })
    }

    pub(super) fn calls(&self, oracles: &[Oracle], quotes: &[Address]) -> Vec<Call> {
        let mut calls: Vec<Call> =
            self.sequencer.iter().map(|sequencer| Call::new(*sequencer, &latestRoundDataCall {})).collect();
        for (asset, feed) in self.assets(quotes) {
            calls.extend(feed.iter().flat_map(Feed::ask));
            calls.extend(self.token(asset).into_iter().flat_map(|token| oracle::ask(oracles, token)));
        }
        calls
    }

    /// The prices in the answers to [`calls`](Self::calls).
    pub(super) fn answered(
        &self,
        oracles: &[Oracle],
        quotes: &[Address],
        now: u64,
        answers: &[Option<Bytes>],
    ) -> OnChainPrices {
        let mut answers = answers.iter();
        let trusted = self.sequencer.is_none_or(|_| self.is_up(answers.next(), now));
        let mut on_chain = OnChainPrices { trusted, ..OnChainPrices::default() };
        for (asset, feed) in self.assets(quotes) {
            self.take(&mut on_chain, asset, feed, oracles, &mut answers, now);
        }
        self.price_wrapped(&mut on_chain);
        on_chain
    }

    /// The result if the chain cannot be read: each asset may have a price there.
    pub(super) fn unread(&self) -> OnChainPrices {
        OnChainPrices { sourced: self.assets.iter().map(|(asset, _)| *asset).collect(), ..OnChainPrices::default() }
    }

    /// Takes the answers for one asset.
    fn take<'a>(
        &self,
        on_chain: &mut OnChainPrices,
        asset: Priced,
        feed: Option<Feed>,
        oracles: &[Oracle],
        answers: &mut impl Iterator<Item = &'a Option<Bytes>>,
        now: u64,
    ) {
        let round = feed.and_then(|feed| feed.price(answers, now));
        let by_feed = round.map(|(usd, _)| usd);
        on_chain.oldest_round = on_chain.oldest_round.into_iter().chain(round.map(|(_, updated)| updated)).min();
        let quote = self.token(asset).map(|_| oracle::quote(oracles, answers)).unwrap_or_default();
        if feed.is_some() || quote.listed {
            on_chain.sourced.insert(asset);
        }
        let of = |usd: Option<f64>, source| usd.map(|usd| Price { usd, source });
        let price = of(by_feed, PriceSource::Feed).or(of(quote.price, PriceSource::Oracle));
        if let Some(price) = price
            && on_chain.trusted
            && price.usd.is_finite()
            && price.usd > 0.0
        {
            on_chain.prices.insert(asset, price);
            count(self.chain, price.source.as_str());
        }
        if feed.is_some() && by_feed.is_none() {
            on_chain.stale_feeds += 1;
            tracing::warn!(chain = self.chain, token = ?asset, "a price feed has no fresh price");
            count(self.chain, "stale_feed");
        }
    }

    /// Gives the wrapped native currency the price of the native currency if it has no other.
    fn price_wrapped(&self, on_chain: &mut OnChainPrices) {
        let Some(wrapped) = self.wrapped else { return };
        if on_chain.sourced.contains(&None) {
            on_chain.sourced.insert(Some(wrapped));
        }
        if let Some(native) = on_chain.prices.get(&None).copied() {
            on_chain.prices.entry(Some(wrapped)).or_insert(native);
        }
    }

    /// Whether the uptime feed says that the sequencer is up.
    fn is_up(&self, answer: Option<&Option<Bytes>>, now: u64) -> bool {
        let state =
            returned::<latestRoundDataCall>(answer).map_or(Sequencer::Unknown, |round| sequencer_state(&round, now));
        if state != Sequencer::Up {
            tracing::warn!(
                chain = self.chain,
                ?state,
                "the sequencer is not known to be up; its chain's feeds and oracles are not believed"
            );
            count(self.chain, "sequencer_down");
        }
        state == Sequencer::Up
    }

    /// The native currency, the configured tokens, and the other tokens of `quotes`.
    pub(super) fn assets(&self, quotes: &[Address]) -> Vec<(Priced, Option<Feed>)> {
        let mut assets = self.assets.clone();
        for quote in quotes {
            if !assets.iter().any(|(asset, _)| *asset == Some(*quote)) {
                assets.push((Some(*quote), None));
            }
        }
        assets
    }

    /// The tokens whose prices these sources do not give.
    pub(super) fn unpriced(&self, on_chain: &OnChainPrices, quotes: &[Address]) -> Vec<Address> {
        let missing = self.assets(quotes).into_iter().filter(|(asset, _)| !on_chain.prices.contains_key(asset));
        missing.filter_map(|(asset, _)| self.token(asset)).collect()
    }

    /// The token by which sources of tokens price `asset`: the native currency has the price of its wrapped form.
    pub(super) fn token(&self, asset: Priced) -> Option<Address> {
        asset.or(self.wrapped)
    }
}
