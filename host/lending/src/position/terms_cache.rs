//! The terms of every market of a chain, looked up at run time and again every hour, because governance changes them.
//! The chain's watcher does that; meanwhile requests use the earlier terms, up to a maximum age. If a read finds that a
//! market has more contracts than the terms list, the next one looks them up.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use futures::future::{BoxFuture, Shared, try_join_all};

use crate::{
    figures::hints::AllHints,
    market::Market,
    pauses,
    position::absent::Absent,
    protocols::{LendingProtocol, MarketTerms},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Block, Client, Fault};

/// The terms of every market of a chain, in the order of the configuration; `None` for a market that does not answer as
/// its protocol should. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ChainTerms {
    markets: Arc<[Option<MarketTerms>]>,
    /// The block in whose state they were looked up.
    at: u64,
}

/// The terms of all markets, looked up once and shared.
pub type SharedTerms = Shared<BoxFuture<'static, Result<ChainTerms, Fault>>>;

impl ChainTerms {
    pub fn iter(&self) -> std::slice::Iter<'_, Option<MarketTerms>> {
        self.markets.iter()
    }

    /// The block in whose state they were looked up.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Whether no market was seen to have more contracts than these terms list.
    fn is_whole(&self) -> bool {
        self.known().all(|terms| terms.is_whole())
    }

    fn known(&self) -> impl Iterator<Item = &MarketTerms> {
        self.iter().flatten()
    }

    /// Logs the markets that do not answer, in one line.
    fn warn(&self, markets: &[Market]) {
        let silent = markets.iter().zip(self.iter()).filter(|(_, terms)| terms.is_none()).map(|(market, _)| market);
        let name = |market: &Market| format!("{} at {}", market.config.protocol.as_str(), market.config.address);
        let silent: Vec<String> = silent.map(name).collect();
        if silent.is_empty() {
            return;
        }
        if silent.len() == markets.len() && silent.len() > 1 {
            tracing::warn!(
                markets = silent.len(),
                "no market of chains.markets answers: the endpoints may serve \
                                                    another network with this id"
            );
        } else {
            tracing::warn!(
                markets = silent.join(", "),
                "no market of its protocol answers at these addresses of \
                                                         chains.markets"
            );
        }
    }

    /// The oracles that price every listed asset in dollars, each once, with its number for one dollar.
    pub fn oracles(&self) -> Vec<(Address, U256)> {
        let mut oracles = Vec::new();
        for oracle in self.known().filter_map(|terms| terms.oracle()) {
            if !oracles.contains(&oracle) {
                oracles.push(oracle);
            }
        }
        oracles
    }

    /// The assets in which markets quote prices.
    pub fn quote_assets(&self) -> Vec<Address> {
        self.known().filter_map(|terms| terms.quoted_in()).collect()
    }

    /// The tokens by which the markets record deposits and debts.
    pub fn receipt_tokens(&self) -> impl Iterator<Item = Address> {
        self.known().flat_map(|terms| terms.receipts())
    }
}

impl FromIterator<Option<MarketTerms>> for ChainTerms {
    fn from_iter<I: IntoIterator<Item = Option<MarketTerms>>>(terms: I) -> Self {
        Self { markets: terms.into_iter().collect(), at: 0 }
    }
}

/// The newest terms of a chain's markets, shared by all requests.
#[derive(Default)]
pub struct TermsCache {
    latest: Mutex<Option<(Instant, ChainTerms)>>,
    /// One look-up runs at a time.
    looking: tokio::sync::Mutex<()>,
    /// Whether a market may not exist yet. At the head, an address without code is a fault of the configuration.
    may_lack_markets: bool,
}

impl TermsCache {
    /// Terms at a moment in the past, at which some markets may not exist yet.
    pub fn of_the_past() -> Self {
        Self { may_lack_markets: true, ..Self::default() }
    }

    /// The latest terms of `markets`, in the same order. They are looked up here only if there are none yet, if none
    /// could be looked up for hours, or if a market has new contracts; the earlier terms serve if these are not found.
    ///
    /// # Errors
    /// [`Fault`] if there are no usable terms and the look-up fails.
    pub async fn current(&self, client: &Client, markets: &[Market], at: Block) -> Result<ChainTerms, Fault> {
        if let Some(terms) = self.usable().filter(ChainTerms::is_whole) {
            return Ok(terms);
        }
        let _one_at_a_time = self.looking.lock().await;
        match self.usable() {
            Some(terms) if terms.is_whole() => Ok(terms),
            Some(terms) => self.renew(client, markets, at).await.or(Ok(terms)),
            None => self.renew(client, markets, at).await,
        }
    }

    /// Looks up the terms again if they are old or incomplete.
    ///
    /// # Errors
    /// [`Fault`] if that fails; earlier terms remain in use.
    pub async fn refresh(&self, client: &Client, markets: &[Market], at: Block) -> Result<(), Fault> {
        let _one_at_a_time = self.looking.lock().await;
        if self.latest().is_none_or(|(found, terms)| found.elapsed() >= lifetime(&terms)) {
            self.renew(client, markets, at).await?;
        }
        Ok(())
    }

    fn latest(&self) -> Option<(Instant, ChainTerms)> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn usable(&self) -> Option<ChainTerms> {
        self.latest().filter(|(found, _)| found.elapsed() < pauses::TERMS_MAX_AGE).map(|(_, terms)| terms)
    }

    async fn renew(&self, client: &Client, markets: &[Market], at: Block) -> Result<ChainTerms, Fault> {
        let terms = look_up(client, markets, at).await?;
        let terms = if self.may_lack_markets { with_absent(client, markets, terms, at).await? } else { terms };
        terms.warn(markets);
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), terms.clone()));
        Ok(terms)
    }
}

fn lifetime(terms: &ChainTerms) -> Duration {
    match terms.iter().all(Option::is_some) {
        _ if !terms.is_whole() => Duration::ZERO,
        true => pauses::TERMS_LIFETIME,
        false => pauses::INCOMPLETE_TERMS_LIFETIME,
    }
}

/// The hints of `markets` by their `terms`; `None` for a market that cannot be read without terms.
pub fn hints(markets: &[Market], terms: Option<&ChainTerms>) -> AllHints {
    let of = |(index, market): (usize, &Market)| match terms.and_then(|terms| terms.markets.get(index)?.as_ref()) {
        Some(terms) => Some(terms.hints()),
        None => market.protocol.profile().reads_without_terms.then(Vec::new),
    };
    markets.iter().enumerate().map(of).collect()
}

/// The hints of `markets` for `wallet`, with the words that identify it in their logs at block `at`. `known` are the
/// parts of positions that it once had, one entry per market. `None` for a market that does not answer.
pub(crate) async fn wallet_hints(
    client: &Client,
    markets: &[Market],
    terms: Option<&ChainTerms>,
    wallet: Address,
    known: &[BTreeSet<B256>],
    at: Block,
) -> AllHints {
    let mut all = hints(markets, terms).to_vec();
    let none = BTreeSet::new();
    for (index, (terms, hints)) in terms.iter().flat_map(|terms| terms.iter()).zip(&mut all).enumerate() {
        let known = known.get(index).unwrap_or(&none);
        let Some(found) = terms.as_ref().and_then(|terms| terms.aliases(client, wallet, known, at)) else { continue };
        let found = found.await.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "what stands for a wallet in the logs of a market cannot be read");
            None
        });
        *hints = hints.take().zip(found).map(|(hints, aliases)| [hints, aliases].concat());
    }
    all.into()
}

/// Looks up all families concurrently, each with one request per step.
async fn look_up(client: &Client, markets: &[Market], at: Block) -> Result<ChainTerms, Fault> {
    let mut families = BTreeMap::<&str, (&dyn LendingProtocol, Vec<_>)>::new();
    for market in markets {
        let (_, members) = families.entry(market.protocol.profile().family).or_insert((market.protocol, Vec::new()));
        members.push(&market.config);
    }
    let lookups = families.into_iter().map(|(family, (protocol, members))| async move {
        Ok::<_, Fault>((family, protocol.look_up(client, members, at).await?.into_iter()))
    });
    let mut found: BTreeMap<_, _> = try_join_all(lookups).await?.into_iter().collect();
    let next = |market: &Market| found.get_mut(market.protocol.profile().family).and_then(Iterator::next).flatten();
    Ok(ChainTerms { markets: markets.iter().map(next).collect(), at: at.number })
}

/// `terms` with those of markets that have no code in the state after block `at`.
async fn with_absent(client: &Client, markets: &[Market], terms: ChainTerms, at: Block) -> Result<ChainTerms, Fault> {
    let silent = terms.iter().zip(markets).filter(|(terms, _)| terms.is_none());
    let silent: Vec<Address> = silent.map(|(_, market)| market.config.address).collect();
    let absent = client.without_code(&silent, at.hash).await?;
    let none = |market: &Market| absent.contains(&market.config.address).then(|| Arc::new(Absent) as MarketTerms);
    let all = terms.iter().zip(markets).map(|(terms, market)| terms.clone().or_else(|| none(market)));
    Ok(ChainTerms { markets: all.collect(), at: at.number })
}

#[cfg(test)]
mod tests {
    use assay_domain::{Protocol, Secret};
    use assay_evm::{
        config::{Endpoints, RpcLimits},
        endpoint,
    };

    use super::*;
    use crate::config::MarketConfig;

    #[tokio::test]
    async fn old_terms_serve_and_are_only_refreshed_aside() {
        let rpc = vec![Secret::new("http://127.0.0.1:9")];
        let limits = RpcLimits {
            timeout: Duration::from_secs(10),
            concurrency: 1,
            per_second: 0,
            retries: 0,
            traceparent: false,
        };
        let client =
            Client::new(&endpoint::http(), &Endpoints { chain: 1, rpc, multicall: None, max_head_age: None }, &limits);
        let config = MarketConfig {
            protocol: Protocol::LenderAV3,
            market: None,
            address: Address::ZERO,
            from_block: 0,
            feeds_score: None,
            dialect: None,
            chainlog: None,
            lending_factory: None,
            evc: None,
        };
        let (markets, at) = ([Market::new(config)], Block { number: 0, hash: Default::default(), time: 0 });
        let cache = TermsCache::default();
        assert!(cache.current(&client, &markets, at).await.is_err());
        let old = Instant::now().checked_sub(pauses::INCOMPLETE_TERMS_LIFETIME).unwrap();
        *cache.latest.lock().unwrap() = Some((old, ChainTerms::from_iter([None])));
        assert!(cache.refresh(&client, &markets, at).await.is_err());
        assert_eq!(cache.current(&client, &markets, at).await.unwrap().iter().len(), 1);
        *cache.latest.lock().unwrap() = Some((Instant::now(), ChainTerms::from_iter([None])));
        assert!(cache.refresh(&client, &markets, at).await.is_ok(), "new ones are not looked up");
        let too_old = Instant::now().checked_sub(pauses::TERMS_MAX_AGE).unwrap();
        *cache.latest.lock().unwrap() = Some((too_old, ChainTerms::from_iter([None])));
        assert!(cache.current(&client, &markets, at).await.is_err(), "too old to be used");
    }
}
