//! The terms of every market of a chain, looked up at run time and again every hour: governance changes them.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::future::try_join_all;
use tokio::sync::Mutex;

use crate::{
    hints::AllHints,
    market::Market,
    protocol::{LendingProtocol, MarketTerms},
};
use assay_domain::B256;
use assay_evm::{Client, Fault};

const LIFETIME: Duration = Duration::from_secs(3600);
/// A market that does not answer as its protocol should may answer later.
const INCOMPLETE_LIFETIME: Duration = Duration::from_secs(60);

/// One entry per market; `None` for one that does not answer as its protocol should.
pub type AllTerms = Arc<Vec<Option<MarketTerms>>>;

/// The newest terms of a chain's markets, shared by all requests.
#[derive(Default)]
pub struct TermsCache {
    latest: Mutex<Option<(Instant, AllTerms)>>,
}

impl TermsCache {
    /// The terms of `markets`, in their order. One look-up runs at a time; where it fails, earlier terms remain in use.
    ///
    /// # Errors
    /// [`Fault`] where no look-up ever succeeded.
    pub async fn current(&self, client: &Client, markets: &[Market], at: B256) -> Result<AllTerms, Fault> {
        let mut latest = self.latest.lock().await;
        if let Some((found, terms)) = &*latest
            && found.elapsed() < if terms.iter().all(Option::is_some) { LIFETIME } else { INCOMPLETE_LIFETIME }
        {
            return Ok(terms.clone());
        }
        match look_up(client, markets, at).await {
            Ok(terms) => {
                let terms = Arc::new(terms);
                *latest = Some((Instant::now(), terms.clone()));
                Ok(terms)
            }
            Err(fault) => latest.as_ref().map(|(_, terms)| terms.clone()).ok_or(fault),
        }
    }
}

/// The hints of `markets` by their `terms`; `None` for a market that cannot be read without terms.
pub fn hints(markets: &[Market], terms: Option<&AllTerms>) -> AllHints {
    let of = |(index, market): (usize, &Market)| match terms.and_then(|terms| terms.get(index)?.as_ref()) {
        Some(terms) => Some(terms.hints()),
        None => market.protocol.reads_without_terms().then(Vec::new),
    };
    markets.iter().enumerate().map(of).collect()
}

/// Looks up all families concurrently, each with one request per step.
async fn look_up(client: &Client, markets: &[Market], at: B256) -> Result<Vec<Option<MarketTerms>>, Fault> {
    let mut families = BTreeMap::<&str, (&dyn LendingProtocol, Vec<_>)>::new();
    for market in markets {
        let (_, members) = families.entry(market.protocol.family()).or_insert((market.protocol, Vec::new()));
        members.push(&market.config);
    }
    let lookups = families.into_iter().map(|(family, (protocol, members))| async move {
        Ok::<_, Fault>((family, protocol.look_up(client, members, at).await?.into_iter()))
    });
    let mut found: BTreeMap<_, _> = try_join_all(lookups).await?.into_iter().collect();
    let terms = markets.iter().map(|market| {
        let terms = found.get_mut(market.protocol.family()).and_then(Iterator::next).flatten();
        if terms.is_none() {
            let (protocol, address) = (market.config.protocol.as_str(), market.config.address);
            tracing::warn!(protocol, market = %address, "no market of this protocol answers at this address of chains.markets");
        }
        terms
    });
    Ok(terms.collect())
}
