//! Prices from external APIs, for tokens without a feed or an oracle. The APIs are asked in the order of the
//! configuration, and concurrent callers share requests. An answer, also that a token has no price, is cached for the
//! lifetime of a price; an older one is never used.

mod api;
mod coingecko;
mod defillama;
mod stated;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use moka::future::Cache;
use tokio::time::timeout;

use self::api::Api;
use super::count;
use crate::{
    config::{ChainConfig, Prices as Settings, Slugs},
    limits,
};
use assay_domain::{Address, ChainId, Price, PriceSource, Prices};
use assay_evm::endpoint::Http;

/// How long a token counts as one that had a price lately.
const PRICED_LATELY: Duration = Duration::from_secs(24 * 3600);
/// Shortest lifetime of an answer: callers that wait for a round read its answers from the cache.
const MIN_LIFETIME: Duration = Duration::from_secs(1);

/// A token of some chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct ApiAsset {
    pub chain: ChainId,
    pub token: Address,
}

/// The prices that the APIs have for some tokens. A token that is in neither list has no price at any of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundPrices {
    pub prices: Prices,
    /// Tokens whose price cannot be read now.
    pub lacking: BTreeSet<Address>,
}

/// All external APIs, for all chains.
pub(crate) struct ExternalPrices {
    apis: Vec<Api>,
    slugs: HashMap<ChainId, Slugs>,
    lifetime: Duration,
    /// Dollars for one whole token; `None` if every API answered and none has a price.
    answers: Cache<ApiAsset, Option<f64>>,
    /// Tokens that had a price lately.
    priced: Cache<ApiAsset, ()>,
    /// What the next round asks for.
    waiting: Mutex<BTreeSet<ApiAsset>>,
    /// Held during a round of requests.
    round: tokio::sync::Mutex<()>,
}

impl ExternalPrices {
    pub(crate) fn new(http: &Http, settings: &Settings, chains: &[&ChainConfig]) -> Self {
        let lifetime = settings.refresh;
        Self {
            apis: [&settings.api, &settings.fallback]
                .into_iter()
                .flatten()
                .filter_map(|root| Api::new(http, root))
                .collect(),
            slugs: chains.iter().map(|chain| (chain.id, chain.slugs.clone())).collect(),
            lifetime,
            answers: Cache::builder()
                .max_capacity(limits::CACHED_PRICES)
                .time_to_live(lifetime.max(MIN_LIFETIME))
                .build(),
            priced: Cache::builder().max_capacity(limits::CACHED_PRICES).time_to_live(PRICED_LATELY).build(),
            waiting: Mutex::default(),
            round: tokio::sync::Mutex::default(),
        }
    }

    /// How long a price is used.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// What the APIs say of these tokens.
    pub(super) async fn prices(&self, chain: ChainId, tokens: &[Address]) -> FoundPrices {
        if !self.covers(chain) {
            return FoundPrices::default();
        }
        let wanted: BTreeSet<ApiAsset> = tokens.iter().map(|token| ApiAsset { chain, token: *token }).collect();
        let missing = self.unanswered(wanted.iter().copied());
        if !missing.is_empty() {
            {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let room = limits::PRICES_WAITING.saturating_sub(waiting.len());
                waiting.extend(missing.iter().copied().take(room));
            }
            // After the timeout the caller gets the prices received so far.
            let _ = timeout(limits::PRICES_ROUND, self.ask_in_turn(missing)).await;
        }
        let mut found = FoundPrices::default();
        for asset in wanted {
            match self.answers.get(&asset).await {
                Some(Some(usd)) => {
                    found.prices.insert(Some(asset.token), Price { usd, source: PriceSource::Api });
                }
                Some(None) if !self.priced.contains_key(&asset) => {}
                // No answer, or a price that was there lately is gone.
                _ => _ = found.lacking.insert(asset.token),
            }
        }
        found
    }

    fn covers(&self, chain: ChainId) -> bool {
        self.of(chain).next().is_some()
    }

    fn of(&self, chain: ChainId) -> impl Iterator<Item = &Api> {
        let slugs = self.slugs.get(&chain);
        self.apis.iter().filter(move |api| slugs.is_some_and(|slugs| api.kind().slug(slugs).is_some()))
    }

    fn unanswered(&self, assets: impl Iterator<Item = ApiAsset>) -> BTreeSet<ApiAsset> {
        assets.filter(|asset| !self.answers.contains_key(asset)).collect()
    }

    /// Asks for `own` and for what other callers wait for, after the round before; asks nothing if that round had
    /// the answers.
    async fn ask_in_turn(&self, own: BTreeSet<ApiAsset>) {
        let _round = self.round.lock().await;
        let own = self.unanswered(own.into_iter());
        if own.is_empty() {
            return;
        }
        let gathered = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let others = self.unanswered(gathered.into_iter().filter(|asset| !own.contains(asset)));
        self.ask(own.into_iter().chain(others).collect()).await;
    }

    async fn ask(&self, assets: Vec<ApiAsset>) {
        // The tokens without a price so far, and whether every API answered for them.
        let mut open: BTreeMap<ApiAsset, bool> = assets.into_iter().map(|asset| (asset, true)).collect();
        for api in &self.apis {
            let read = api.read(&self.slugs, open.keys().copied().collect()).await;
            for (asset, price) in read.prices {
                open.remove(&asset);
                count(asset.chain, api.kind().as_str());
                self.priced.insert(asset, ()).await;
                self.answers.insert(asset, Some(price)).await;
            }
            for asset in read.failed {
                open.entry(asset).and_modify(|answered| *answered = false);
            }
        }
        for (asset, _) in open.into_iter().filter(|(_, answered)| *answered) {
            count(asset.chain, "none");
            self.answers.insert(asset, None).await;
        }
    }
}
