//! Prices from outside the chains, for what no contract prices: external APIs in the order of the configuration, asked
//! once for all who ask at a time. An answer lives as long as a price may; also that there is none. What is older is
//! never given.

mod api;
mod coingecko;
mod defillama;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use moka::future::Cache;
use tokio::time::timeout;

use self::api::Api;
use crate::config::{ChainConfig, Prices as Settings, Slugs};
use assay_domain::{Address, ChainId};
use assay_evm::endpoint::Http;

/// Longest time a caller waits for prices, in turn and answer: well inside the time a read has.
const PATIENCE: Duration = Duration::from_secs(4);
/// Answers kept, 100 bytes each.
const MOST_ANSWERS: u64 = 200_000;
/// Tokens that others may leave to one turn; what is more is asked for by its own.
const MOST_WAITING: usize = 2_000;
/// How long it is remembered that a token had a price.
const MEMORY: Duration = Duration::from_secs(24 * 3600);
/// Those who wait for one turn read its answers here, so that they live for a moment at least.
const SHORTEST_LIFE: Duration = Duration::from_secs(1);

/// A token of some chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Asset {
    pub chain: ChainId,
    pub token: Address,
}

/// All external APIs, for all chains.
pub(crate) struct External {
    apis: Vec<Api>,
    slugs: HashMap<ChainId, Slugs>,
    life: Duration,
    /// Dollars for one whole token; `None` where every API answered and none has a price.
    answers: Cache<Asset, Option<f64>>,
    /// What had a price lately.
    known: Cache<Asset, ()>,
    /// What the next turn asks for.
    waiting: Mutex<BTreeSet<Asset>>,
    turn: tokio::sync::Mutex<()>,
}

impl External {
    pub(crate) fn new(http: &Http, settings: &Settings, chains: &[&ChainConfig]) -> Self {
        let life = settings.refresh;
        Self {
            apis: [&settings.api, &settings.fallback]
                .into_iter()
                .flatten()
                .filter_map(|root| Api::new(http, root))
                .collect(),
            slugs: chains.iter().map(|chain| (chain.id, chain.slugs.clone())).collect(),
            life,
            answers: Cache::builder().max_capacity(MOST_ANSWERS).time_to_live(life.max(SHORTEST_LIFE)).build(),
            known: Cache::builder().max_capacity(MOST_ANSWERS).time_to_live(MEMORY).build(),
            waiting: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// How long a price is shared by all requests.
    pub(super) fn life(&self) -> Duration {
        self.life
    }

    /// The dollar prices of these tokens. One without an entry has none, or none can be had now.
    pub(super) async fn prices(&self, chain: ChainId, tokens: &[Address]) -> HashMap<Address, f64> {
        if !self.covers(chain) {
            return HashMap::new();
        }
        let wanted: BTreeSet<Asset> = tokens.iter().map(|token| Asset { chain, token: *token }).collect();
        let missing = self.unanswered(wanted.iter().copied());
        if !missing.is_empty() {
            {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                let room = MOST_WAITING.saturating_sub(waiting.len());
                waiting.extend(missing.iter().copied().take(room));
            }
            // Who gives up waiting has what is there by then.
            let _ = timeout(PATIENCE, self.take_turn(missing)).await;
        }
        let mut prices = HashMap::new();
        for asset in wanted {
            if let Some(Some(price)) = self.answers.get(&asset).await {
                prices.insert(asset.token, price);
            }
        }
        prices
    }

    /// Whether this token had a price lately.
    pub(super) fn knew(&self, chain: ChainId, token: Address) -> bool {
        self.known.contains_key(&Asset { chain, token })
    }

    /// Whether an API that may know tokens of `chain` fails now, so that a missing price says nothing.
    pub(super) fn is_failing(&self, chain: ChainId) -> bool {
        self.of(chain).any(|api| api.resting().is_some())
    }

    fn covers(&self, chain: ChainId) -> bool {
        self.of(chain).next().is_some()
    }

    fn of(&self, chain: ChainId) -> impl Iterator<Item = &Api> {
        let slugs = self.slugs.get(&chain);
        self.apis.iter().filter(move |api| slugs.is_some_and(|slugs| api.kind().slug(slugs).is_some()))
    }

    fn unanswered(&self, assets: impl Iterator<Item = Asset>) -> BTreeSet<Asset> {
        assets.filter(|asset| !self.answers.contains_key(asset)).collect()
    }

    /// Asks for `own`, and for what gathered during the turn before; or for nothing, where that turn has brought it.
    async fn take_turn(&self, own: BTreeSet<Asset>) {
        let _turn = self.turn.lock().await;
        let own = self.unanswered(own.into_iter());
        if own.is_empty() {
            return;
        }
        let gathered = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let others = self.unanswered(gathered.into_iter().filter(|asset| !own.contains(asset)));
        self.ask(own.into_iter().chain(others).collect()).await;
    }

    async fn ask(&self, assets: Vec<Asset>) {
        // Tokens that no API so far had a price for, and whether all of those answered.
        let mut open: BTreeMap<Asset, bool> = assets.into_iter().map(|asset| (asset, true)).collect();
        for api in &self.apis {
            let read = api.read(&self.slugs, open.keys().copied().collect()).await;
            for (asset, price) in read.prices {
                open.remove(&asset);
                count(asset, api.kind().as_str());
                self.known.insert(asset, ()).await;
                self.answers.insert(asset, Some(price)).await;
            }
            for asset in read.failed {
                open.entry(asset).and_modify(|answered| *answered = false);
            }
        }
        for (asset, _) in open.into_iter().filter(|(_, answered)| *answered) {
            count(asset, "none");
            self.answers.insert(asset, None).await;
        }
    }
}

fn count(asset: Asset, source: &'static str) {
    metrics::counter!("assay_prices_read_total", "chain" => asset.chain.to_string(), "source" => source).increment(1);
}
