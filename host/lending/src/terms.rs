//! The helpers of every market of a chain, looked up at run time and again every hour: governance replaces them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use alloy::primitives::Bytes;
use tokio::sync::Mutex;

use crate::{Lender, Market, aave, comet, ctoken, hints::Hint, standing::Standing};
use assay_domain::Prices;
use assay_domain::{Address, B256, U256};
use assay_evm::{call::Call, client::Client, fault::Fault};

const LIFE: Duration = Duration::from_secs(3600);
/// A market that does not answer as it should may be a passing fault.
const INCOMPLETE_LIFE: Duration = Duration::from_secs(60);

/// A wallet's position in one market, in dollars.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Held {
    pub supplied_usd: f64,
    pub borrowed_usd: f64,
    pub supplied_assets: u32,
}

/// What is fixed of one market for a while.
#[derive(Debug, Clone)]
pub enum MarketTerms {
    Aave(aave::Terms),
    Comet(comet::Terms),
    CToken(ctoken::Terms),
}

impl MarketTerms {
    /// The calls that tell a wallet's position.
    pub fn calls(&self, wallet: Address) -> Vec<Call> {
        match self {
            Self::Aave(terms) => terms.calls(wallet),
            Self::Comet(terms) => terms.calls(wallet),
            Self::CToken(terms) => terms.calls(wallet),
        }
    }

    /// The calls that tell whether a wallet whose history is blank ever had anything, as far as the protocol keeps a
    /// trace.
    pub fn traces(&self, wallet: Address) -> Vec<Call> {
        match self {
            Self::Aave(terms) => terms.traces(wallet),
            Self::Comet(terms) => terms.traces(wallet),
            Self::CToken(terms) => terms.traces(wallet),
        }
    }

    /// Whether it had, by the answers to [`traces`](Self::traces).
    pub fn ever_held(&self, answers: &[Option<Bytes>]) -> bool {
        match self {
            Self::Aave(_) => aave::ever_held(answers),
            Self::Comet(_) => comet::ever_held(answers),
            // They allow for it, no more.
            Self::CToken(_) => false,
        }
    }

    /// Where a contract keeps what tells it and no call does: a place in its storage, where those answers make it worth
    /// a look.
    pub fn trace(&self, answers: &[Option<Bytes>], wallet: Address) -> Option<(Address, U256)> {
        match self {
            Self::Aave(_) | Self::Comet(_) => None,
            Self::CToken(terms) => terms.trace(answers, wallet),
        }
    }

    /// Whether it had, by what is kept at [`trace`](Self::trace).
    pub fn is_mark(&self, kept: U256) -> bool {
        match self {
            Self::Aave(_) | Self::Comet(_) => false,
            Self::CToken(_) => ctoken::is_mark(kept),
        }
    }

    /// The position in the answers to [`calls`](Self::calls); `None` where a part of it, or a price that it needs, is
    /// missing.
    pub fn held(&self, answers: &[Option<Bytes>], prices: &Prices) -> Option<Held> {
        let quote_usd = self.quoted_in().and_then(|asset| prices.get(&Some(asset)).copied());
        match self {
            Self::Aave(terms) => terms.held(answers, quote_usd),
            Self::Comet(terms) => terms.held(answers, quote_usd),
            Self::CToken(terms) => terms.held(answers),
        }
    }

    /// Which logs beside those of the market tell to look into a transaction.
    pub fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Aave(terms) => terms.hints(),
            Self::Comet(_) => Vec::new(),
            Self::CToken(terms) => terms.hints(),
        }
    }

    /// What the wallet has there of each asset, in the answers to [`calls`](Self::calls); `None` where a part of it is
    /// missing, or of a protocol whose amounts are not followed.
    pub fn standings(&self, answers: &[Option<Bytes>]) -> Option<Vec<Standing>> {
        match self {
            Self::Aave(terms) => terms.standings(answers),
            Self::Comet(terms) => terms.standings(answers),
            Self::CToken(_) => None,
        }
    }

    /// An oracle that prices any listed asset in dollars, and the number that stands for one dollar there.
    pub fn oracle(&self) -> Option<(Address, U256)> {
        match self {
            Self::Aave(terms) => terms.quote.asset.is_none().then_some((terms.oracle, terms.quote.unit)),
            Self::Comet(_) | Self::CToken(_) => None,
        }
    }

    /// The asset whose price in dollars [`held`](Self::held) needs.
    pub fn quoted_in(&self) -> Option<Address> {
        match self {
            Self::Aave(terms) => terms.quote.asset,
            Self::Comet(terms) => Some(terms.base),
            Self::CToken(_) => None,
        }
    }
}

/// One entry per market; `None` for one that does not answer as its protocol should.
pub type AllTerms = Arc<Vec<Option<MarketTerms>>>;

/// Shared by all requests of a chain.
#[derive(Default)]
pub struct TermsBook {
    latest: Mutex<Option<(Instant, AllTerms)>>,
}

impl TermsBook {
    /// The terms of `markets`, in their order. One look-up at a time; where it fails, what was found before still
    /// counts.
    ///
    /// # Errors
    /// [`Fault`] where nothing was ever found.
    pub async fn current(&self, client: &Client, markets: &[Market], at: B256) -> Result<AllTerms, Fault> {
        let mut latest = self.latest.lock().await;
        if let Some((found, terms)) = &*latest
            && found.elapsed() < if terms.iter().all(Option::is_some) { LIFE } else { INCOMPLETE_LIFE }
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

async fn look_up(client: &Client, markets: &[Market], at: B256) -> Result<Vec<Option<MarketTerms>>, Fault> {
    let (mut pools, mut comets, mut ctokens) = (Vec::new(), Vec::new(), Vec::new());
    for market in markets {
        let address = market.config.address;
        match market.lender {
            Lender::AaveV2 => pools.push((aave::Version::V2, address)),
            Lender::AaveV3 => pools.push((aave::Version::V3, address)),
            Lender::Comet => comets.push(address),
            Lender::CToken => ctokens.push(address),
        }
    }
    let (pools, comets, ctokens) = tokio::try_join!(
        aave::look_up(client, &pools, at),
        comet::Terms::look_up(client, &comets, at),
        ctoken::Terms::look_up(client, &ctokens, at)
    )?;
    let mut pools = pools.into_iter().map(|terms| terms.map(MarketTerms::Aave));
    let mut comets = comets.into_iter().map(|terms| terms.map(MarketTerms::Comet));
    let mut ctokens = ctokens.into_iter().map(|terms| terms.map(MarketTerms::CToken));
    let terms = markets.iter().map(|market| {
        let found = match market.lender {
            Lender::AaveV2 | Lender::AaveV3 => pools.next(),
            Lender::Comet => comets.next(),
            Lender::CToken => ctokens.next(),
        };
        let found = found.flatten();
        if found.is_none() {
            let (protocol, address) = (market.config.protocol.as_str(), market.config.address);
            tracing::warn!(protocol, market = %address, "no market of this protocol answers at this address of chains.markets");
        }
        found
    });
    Ok(terms.collect())
}
