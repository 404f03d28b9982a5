//! One wallet's read of the lending markets of a chain. It collects, for each market, the calls about the wallet's
//! position with their answers and the wallet's history, and joins both.

use std::collections::{BTreeMap, BTreeSet};

use alloy::primitives::Bytes;
use futures::future::BoxFuture;
use tokio::time::{Instant, timeout_at};

use crate::{
    asset::Asset,
    figures::{record::Side, sums::Sums},
    history::ledger::{MarketHistory, failed_pool},
    market::Market,
    position::{
        accounts,
        cross_check::{Observation, cross_check},
        terms_cache::ChainTerms,
    },
    protocols::{AccountView, Held, MarketTerms, Used},
};
use assay_domain::{
    Address, AssetSide, ChainId, Coverage, Delegation, ExposureClass, PoolHistory, Position, PositionAsset, Prices,
    U256,
    features::{Exposure, PositionFeatures},
};
use assay_evm::{Block, Call, Client, Fault};

/// The markets of a chain in the read of one wallet.
#[derive(Debug)]
pub struct LendingRead {
    chain: ChainId,
    wallet: Address,
    markets: Vec<MarketRead>,
}

/// One market in the read of a wallet.
#[derive(Debug)]
struct MarketRead {
    market: Market,
    known: KnownHistory,
    /// The terms, with the number of calls about the position and about traces; `None` if the terms are unknown.
    terms: Option<MarketTerms>,
    calls: (usize, usize),
    /// The answers about the position; `None` if it cannot be read.
    answers: Option<Vec<Option<Bytes>>>,
    /// Whether the wallet is known to have had a position: by a trace, or by an event in the index.
    ever_held: bool,
    /// Balances for which a trace proves a change that a log must show.
    touched: Vec<(Side, Asset)>,
    /// Whether the state shows every part of the position.
    shows_parts: bool,
    /// A storage slot with a trace that no call returns.
    slot: Option<(Address, U256)>,
    history: MarketHistory,
}

/// What is known of a wallet's history in one market before it is read.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownHistory {
    /// Whether the stored history has no event.
    pub is_blank: bool,
    /// Whether the index has an event.
    pub is_indexed: bool,
    pub check: SecondSource,
}

/// What else tells which parts of the position the wallet used, beside the endpoint that answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SecondSource {
    #[default]
    None,
    /// An index whose logs were compared with those of another endpoint or with the blocks' headers.
    Index,
    /// Another endpoint, which the read asks. It is expected to answer unless it did not for the stored history.
    Endpoint { is_expected: bool },
}

/// The remark on a history in a market whose parts only logs name.
const ONE_SOURCE: &str = "only one endpoint tells which parts of this protocol the wallet used, and its answer cannot \
                          be checked; configure another endpoint, or let the index run";

/// What the chain knows of tokens.
pub trait KnownTokens: Send + Sync {
    /// The decimals of a configured token.
    fn decimals(&self, token: Address) -> Option<u8>;

    /// Looks up the prices of those of `tokens` that have none.
    fn price(&mut self, tokens: BTreeSet<Address>) -> BoxFuture<'_, ()>;

    fn prices(&self) -> &Prices;
}

/// What positions and events are valued with.
pub struct Valuation<'a> {
    pub prices: &'a Prices,
    /// Whether the chain's price sources are to be trusted.
    pub is_trusted: bool,
    /// Time of the block, in seconds since 1970.
    pub at: u64,
    pub class_of: &'a dyn Fn(Address) -> ExposureClass,
    /// The configured symbol of a token; that of the chain's currency for `None`.
    pub symbol_of: &'a dyn Fn(Option<Address>) -> Option<String>,
}

/// One market as a snapshot shows it.
#[derive(Debug)]
pub struct MarketResult {
    pub market: Market,
    pub history: PoolHistory,
    /// `None` if it is empty or unread.
    pub position: Option<Position>,
    pub gap: Option<PositionGap>,
    account: Option<AccountView>,
    is_blank: bool,
    is_doubted: bool,
}

/// What is unknown about a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PositionGap {
    /// It cannot be read or priced, and is left out.
    Unread,
    /// The market did not return the health factor.
    HealthFactor,
}

impl LendingRead {
    /// A read of `markets`, each with what is `known` of its history.
    pub fn new(
        chain: ChainId,
        wallet: Address,
        markets: &[Market],
        known: impl IntoIterator<Item = KnownHistory>,
    ) -> Self {
        let read = |(market, known): (&Market, KnownHistory)| MarketRead {
            known,
            terms: None,
            calls: (0, 0),
            answers: None,
            ever_held: known.is_indexed,
            touched: Vec::new(),
            shows_parts: false,
            slot: None,
            history: MarketHistory::unread(failed_pool(chain, &market.config)),
            market: market.clone(),
        };
        Self { chain, wallet, markets: markets.iter().zip(known).map(read).collect() }
    }

    /// The calls about the wallet: the position in each market, then the traces of earlier positions.
    pub fn calls(&mut self, terms: &ChainTerms) -> Vec<Call> {
        let (mut positions, mut traces) = (Vec::new(), Vec::new());
        for (read, terms) in self.markets.iter_mut().zip(terms.iter()) {
            let Some(terms) = terms else { continue };
            let own = terms.calls(self.wallet);
            let own_traces = if read.is_traced() { terms.traces(self.wallet) } else { Vec::new() };
            read.calls = (own.len(), own_traces.len());
            read.terms = Some(terms.clone());
            positions.extend(own);
            traces.extend(own_traces);
        }
        positions.extend(traces);
        positions
    }

    /// Takes the answers to [`calls`](Self::calls). Returns the storage slots to read next.
    pub fn answer(&mut self, mut answers: &[Option<Bytes>]) -> Vec<(Address, U256)> {
        let mut next = |count: usize| {
            let (own, rest) = answers.split_at(count.min(answers.len()));
            answers = rest;
            own
        };
        for read in self.markets.iter_mut().filter(|read| read.terms.is_some()) {
            read.answers = Some(next(read.calls.0).to_vec());
        }
        for read in &mut self.markets {
            let own = next(read.calls.1);
            let Some(terms) = &read.terms else { continue };
            read.ever_held |= terms.ever_held(own);
            read.touched = terms.touched(own, self.wallet);
            read.shows_parts = read.is_traced() && !terms.lacks_parts(own);
            read.slot = terms.trace_slot(own, self.wallet);
        }
        self.markets.iter().filter_map(|read| read.slot).collect()
    }

    /// Takes the words in the slots that [`answer`](Self::answer) returned.
    pub fn answer_slots(&mut self, words: impl IntoIterator<Item = Option<U256>>) {
        for (read, word) in self.markets.iter_mut().filter(|read| read.slot.is_some()).zip(words) {
            read.ever_held |= word.zip(read.terms.as_ref()).is_some_and(|(word, terms)| terms.is_trace(word));
        }
    }

    /// Adds the histories of all markets.
    pub fn add_histories(&mut self, histories: Vec<MarketHistory>) {
        self.markets.iter_mut().zip(histories).for_each(|(read, history)| read.history = history);
    }

    /// Reads the positions that are in parts of a market, which are known now that the histories are. Those that are
    /// not read by `deadline` are unread, as are those whose history is not complete.
    pub async fn read_parts(&mut self, client: &Client, head: Block, deadline: Instant, known: &mut impl KnownTokens) {
        let (chain, wallet) = (self.chain, self.wallet);
        for read in &mut self.markets {
            let Some(terms) = read.terms.clone() else { continue };
            let (whole, none) = (read.history.whole(), Sums::default());
            let answers = read.answers.clone().unwrap_or_default();
            let used = Used {
                sums: whole.unwrap_or(&none),
                hints: &read.history.hints,
                answers: &answers,
                is_counted: read.history.numbered.is_some(),
            };
            let Some(found) = terms.parts(client, wallet, used, head) else { continue };
            let is_named = whole.is_some() || terms.states_its_parts();
            let found = async {
                // An incomplete history does not name all parts.
                if !is_named {
                    return Ok(None);
                }
                let Some(parts) = found.await? else { return Ok(None) };
                known.price(parts.tokens()).await;
                let terms = parts.priced(&|token| {
                    let decimals = known.decimals(token);
                    (decimals.is_some() || known.prices().contains_key(&Some(token))).then_some(decimals)
                });
                let answers = position_in_parts(client, &terms, wallet, head).await?;
                Ok::<_, Fault>(Some((terms, answers)))
            };
            read.answers = None;
            match timeout_at(deadline, found).await {
                Ok(Ok(Some((terms, answers)))) => (read.terms, read.answers) = (Some(terms), Some(answers)),
                Ok(Ok(None)) => {}
                unread => {
                    let reason = unread.map(|read| read.err());
                    tracing::warn!(chain, ?reason, "a position in the markets of one contract cannot be read");
                }
            }
        }
    }

    /// What the read has found in each market.
    pub fn finish(self, valuation: &Valuation<'_>) -> Vec<MarketResult> {
        let Self { chain, markets, .. } = self;
        let mut found: Vec<_> = markets.into_iter().map(|read| read.finish(chain, valuation)).collect();
        let views: Vec<_> = found.iter_mut().filter_map(|market| market.account.take()).collect();
        let mut positions: Vec<_> = found.iter_mut().filter_map(|market| market.position.as_mut()).collect();
        accounts::join(&mut positions, &views);
        if !valuation.is_trusted {
            positions.iter_mut().for_each(|position| position.health_factor = None);
        }
        found
    }

    /// The histories, if no position could be read.
    pub fn into_histories(self) -> Vec<PoolHistory> {
        self.markets.into_iter().map(|read| read.history.pool).collect()
    }
}

/// The answers about a position in parts of a market.
async fn position_in_parts(
    client: &Client,
    terms: &MarketTerms,
    wallet: Address,
    head: Block,
) -> Result<Vec<Option<Bytes>>, Fault> {
    let calls = terms.calls(wallet);
    match terms.bounds() {
        _ if calls.is_empty() => Ok(Vec::new()),
        None => client.shared_calls(calls, head.hash).await,
        Some(bounds) => {
            let bounded: Vec<_> = calls.into_iter().map(|call| (call, bounds)).collect();
            client.stranger_calls(&bounded, head.hash).await
        }
    }
}

impl MarketRead {
    /// Whether traces are requested: of a wallet without a history, or if only the logs of one endpoint may name the
    /// parts of the position.
    fn is_traced(&self) -> bool {
        match (self.market.protocol.profile().names_its_parts, self.known.check) {
            (true, check) => matches!(check, SecondSource::None | SecondSource::Endpoint { is_expected: false }),
            (false, _) => self.known.is_blank,
        }
    }

    /// Whether only the logs of one endpoint name the parts of the position, and the state does not show them.
    fn lacks_parts(&self) -> bool {
        let is_checked = match self.known.check {
            SecondSource::None => false,
            SecondSource::Index => true,
            SecondSource::Endpoint { .. } => self.history.is_confirmed,
        };
        self.market.protocol.profile().names_its_parts && !is_checked && !self.shows_parts
    }

    fn finish(self, chain: ChainId, valuation: &Valuation<'_>) -> MarketResult {
        let lacks_parts = self.lacks_parts();
        let Self { market, known, terms, answers, ever_held, touched, history, .. } = self;
        let MarketHistory { mut pool, sums, past, numbered, .. } = match &terms {
            Some(terms) if terms.is_absent() => MarketHistory::none(failed_pool(chain, &market.config), &market),
            _ => history,
        };
        let is_whole = sums.is_some() && pool.coverage == Coverage::Complete;
        let read = terms.as_ref().zip(answers.as_deref());
        let held = read.and_then(|(terms, answers)| terms.held_at(answers, valuation.prices));
        // A market that does not answer was already logged when its terms were read.
        if held.is_none() && terms.is_some() {
            tracing::warn!(chain, market = %market.config.address, "a position cannot be read or priced");
        }
        pool.position = market.config.protocol.has_details().then(|| match &held {
            Some(held) if valuation.is_trusted => details(held, valuation.class_of),
            _ => PositionFeatures::UNREAD,
        });
        let knows_delegations = is_whole || !market.config.protocol.has_delegations();
        let mut position = held.as_ref().and_then(|held| position(chain, &market, held, valuation.symbol_of));
        position.iter_mut().filter(|_| !knows_delegations).for_each(|position| position.delegations = None);
        let account = read.and_then(|(terms, answers)| terms.account(answers));
        let balances = read.and_then(|(terms, answers)| terms.balances(answers));
        let observation = Observation {
            position: position.as_ref(),
            balances: balances.as_deref(),
            ever_held,
            touched: &touched,
            lacks: read.and_then(|(terms, _)| terms.lacks()).or(lacks_parts.then_some(ONE_SOURCE)),
            at: valuation.at,
        };
        let is_doubted = cross_check(&mut pool, sums.as_ref(), &observation);
        if held.is_none() {
            pool.lower();
        }
        // Anybody can supply a token without a price for any wallet, so such a deposit makes no history partial.
        for token in held.iter().flat_map(|held| &held.parts.unpriced) {
            pool.remark.get_or_insert_with(|| format!("a deposit of token {token} has no price and is in no sum"));
        }
        if let Some(past) = past {
            let asset = |side, asset| {
                let (token, unit) = read?.0.token(side, asset)?;
                Some(((valuation.class_of)(token), unit))
            };
            pool.events = past.resolved(pool.coverage, &pool.counts, asset);
        }
        if let Some(events) = numbered {
            events.add_to(&mut pool);
        }
        let gap = match &held {
            None => Some(PositionGap::Unread),
            Some(held) => held.parts.lacking.then_some(PositionGap::HealthFactor),
        };
        MarketResult { market, history: pool, position, gap, account, is_blank: known.is_blank, is_doubted }
    }
}

impl MarketResult {
    /// Whether the history contradicts the position.
    pub fn is_doubted(&self) -> bool {
        self.is_doubted
    }

    /// Whether the stored history had no event before the read.
    pub(crate) fn was_blank(&self) -> bool {
        self.is_blank
    }
}

/// `None` for an empty position.
fn position(
    chain: ChainId,
    market: &Market,
    held: &Held,
    symbol_of: &dyn Fn(Option<Address>) -> Option<String>,
) -> Option<Position> {
    let named = |asset: &PositionAsset| {
        let symbol = symbol_of(asset.token).or_else(|| asset.symbol.clone());
        PositionAsset { symbol, ..asset.clone() }
    };
    let delegation = |one: &Delegation| {
        let symbol = symbol_of(Some(one.token)).or_else(|| one.symbol.clone());
        Delegation { symbol, ..one.clone() }
    };
    let is_empty = held.supplied_usd <= 0.0 && held.borrowed_usd <= 0.0 && held.parts.delegations.is_empty();
    (!is_empty).then(|| Position {
        chain_id: chain,
        protocol: market.config.protocol,
        market_address: market.config.address,
        market: market.config.market.clone(),
        supplied_usd: held.supplied_usd,
        borrowed_usd: held.borrowed_usd,
        supplied_assets: held.supplied_assets,
        assets: held.parts.assets.iter().map(named).collect(),
        health_factor: held.parts.health_factor,
        mode: held.parts.mode.clone(),
        delegations: Some(held.parts.delegations.iter().map(delegation).collect()),
    })
}

/// The details of a position, with its assets by class.
fn details(held: &Held, class_of: &dyn Fn(Address) -> ExposureClass) -> PositionFeatures {
    let parts = &held.parts;
    PositionFeatures {
        coverage: if parts.lacking || !parts.unpriced.is_empty() { Coverage::Partial } else { Coverage::Complete },
        collateral: exposures(class_of, parts.on(AssetSide::Collateral)),
        debt: exposures(class_of, parts.on(AssetSide::Debt)),
        liquidation_threshold: parts.threshold,
        health_factor: parts.health_factor,
        utilisation: (held.supplied_usd > 0.0).then(|| held.borrowed_usd / held.supplied_usd),
    }
}

fn exposures(class_of: &dyn Fn(Address) -> ExposureClass, of: impl Iterator<Item = (Address, f64)>) -> Vec<Exposure> {
    let mut by_class = BTreeMap::<ExposureClass, f64>::new();
    for (asset, usd) in of {
        *by_class.entry(class_of(asset)).or_default() += usd;
    }
    by_class.into_iter().map(|(class, usd)| Exposure { class, usd }).collect()
}
