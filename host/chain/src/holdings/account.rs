//! What an address holds and owes on one chain after one block: native balance, configured tokens and lending
//! positions, in one request if the chain has a Multicall3.

use std::collections::BTreeMap;

use alloy::{primitives::Bytes, sol};

use crate::config::ChainConfig;
use assay_domain::{
    Address, AssetClass, Coverage, ExposureClass, PoolHistory, Position, Prices, TokenBalance, U256,
    features::{Exposure, PositionFeatures},
};
use assay_evm::{
    call::{Call, getEthBalanceCall, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_lending::{AllPasts, AllTerms, Asset, Balance, Held, HeldParts, Market, MarketTerms, Parts, Side};

sol! {
    function balanceOf(address owner) external view returns (uint256 balance);
}

/// The native currency of every supported chain has 18 decimals.
const NATIVE_DECIMALS: u8 = 18;

/// A chain after a block.
pub(crate) struct ChainState<'a> {
    pub client: &'a Client,
    pub config: &'a ChainConfig,
    pub head: Block,
}

/// Balances and positions, without prices.
#[derive(Debug, Default)]
pub(crate) struct Account {
    native: U256,
    /// One entry per configured token.
    tokens: Vec<U256>,
    /// The answers of each market with its terms; `None` if the terms are unknown.
    markets: Vec<Option<(MarketTerms, Vec<Option<Bytes>>)>>,
    /// Whether the wallet ever had a position in each market, as far as that was asked.
    ever_held: Vec<bool>,
    /// The balances in each market that changed, as far as that was asked.
    touched: Vec<Vec<(Side, Asset)>>,
    /// Configured tokens that did not answer.
    pub silent: Vec<Address>,
}

/// The calls about a wallet: balances first, then the position in each market, then the traces of earlier positions.
pub(crate) struct Questions {
    pub calls: Vec<Call>,
    /// Number of calls about the position in each market, and about traces there.
    positions: Vec<usize>,
    traces: Vec<usize>,
}

/// The lending positions of a wallet.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// The positions that are not empty.
    pub positions: Vec<Position>,
    /// The markets, by index, whose position cannot be read or priced. It is left out.
    pub unread: Vec<usize>,
    /// The markets, by index, that did not answer how far the position is from a liquidation.
    pub lacking: Vec<usize>,
    /// The details of the position in each market; `None` if its protocol has none.
    pub details: Vec<Option<PositionFeatures>>,
    /// Deposits without a price, each with the index of its market. They are in no figure.
    pub unpriced: Vec<(usize, Address)>,
}

/// A storage slot with a trace that no call returns.
pub(crate) struct TraceSlot {
    /// Index of its market.
    market: usize,
    slot: (Address, U256),
}

impl Questions {
    /// `blank` are the markets whose stored history is empty: only they are asked for traces.
    pub(crate) fn new(chain: &ChainConfig, terms: &AllTerms, blank: &[bool], wallet: Address) -> Self {
        let mut calls = vec![Call::Balance(wallet)];
        calls.extend(chain.tokens.iter().map(|token| Call::new(token.address, &balanceOfCall { owner: wallet })));
        let positions = terms.iter().map(|terms| terms.as_ref().map(|t| t.calls(wallet)).unwrap_or_default());
        let positions: Vec<Vec<Call>> = positions.collect();
        let traces =
            terms.iter().zip(blank).map(|(terms, blank)| terms.as_ref().filter(|_| *blank).map(|t| t.traces(wallet)));
        let traces: Vec<Vec<Call>> = traces.map(Option::unwrap_or_default).collect();
        let counts = |lists: &[Vec<Call>]| lists.iter().map(Vec::len).collect();
        let (of_positions, of_traces) = (counts(&positions), counts(&traces));
        calls.extend(positions.into_iter().chain(traces).flatten());
        Self { calls, positions: of_positions, traces: of_traces }
    }
}

impl Account {
    /// Reads `wallet` in the state after `head`. The `blank` markets, whose stored history is empty, are also asked
    /// whether the wallet ever had a position.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer. A single contract that does not answer is silent, or a market without a
    /// position that can be read.
    pub(crate) async fn read(
        client: &Client,
        chain: &ChainConfig,
        terms: &AllTerms,
        blank: &[bool],
        wallet: Address,
        head: Block,
    ) -> Result<Self, Fault> {
        let questions = Questions::new(chain, terms, blank, wallet);
        let answers = client.shared_calls(questions.calls.clone(), head.hash).await?;
        let (mut account, slots) = Self::answered(chain, terms, &questions, &answers, wallet)?;
        let words = client.storage(&slots.iter().map(|trace| trace.slot).collect::<Vec<_>>(), head.hash).await;
        for (TraceSlot { market, .. }, word) in slots.into_iter().zip(words) {
            let terms = terms.get(market).and_then(Option::as_ref);
            if let (Some(held), Some(terms)) = (account.ever_held.get_mut(market), terms) {
                *held |= word.is_some_and(|word| terms.is_trace(word));
            }
        }
        Ok(account)
    }

    /// The account in the answers to `questions`, and the storage slots to ask for.
    pub(crate) fn answered(
        chain: &ChainConfig,
        terms: &AllTerms,
        questions: &Questions,
        answers: &[Option<Bytes>],
        wallet: Address,
    ) -> Result<(Self, Vec<TraceSlot>), Fault> {
        let (balances, mut rest) = answers.split_at((1 + chain.tokens.len()).min(answers.len()));
        let mut account = Self::balances(chain, balances)?;
        for (terms, count) in terms.iter().zip(&questions.positions) {
            let own = take(&mut rest, *count);
            account.markets.push(terms.clone().map(|terms| (terms, own.to_vec())));
        }
        let mut slots = Vec::new();
        for (index, (terms, count)) in terms.iter().zip(&questions.traces).enumerate() {
            let own = take(&mut rest, *count);
            account.ever_held.push(terms.as_ref().is_some_and(|terms| terms.ever_held(own)));
            account.touched.push(terms.as_ref().map(|terms| terms.touched(own)).unwrap_or_default());
            let slot = terms.as_ref().and_then(|terms| terms.trace_slot(own, wallet));
            slots.extend(slot.map(|slot| TraceSlot { market: index, slot }));
        }
        Ok((account, slots))
    }

    /// The account with the native balance and those of the configured tokens.
    fn balances(chain: &ChainConfig, answers: &[Option<Bytes>]) -> Result<Self, Fault> {
        let native = returned::<getEthBalanceCall>(answers.first());
        let native = native.ok_or_else(|| Fault::Malformed("no native balance".into()))?;
        let mut account = Self { native, ..Self::default() };
        for (index, token) in chain.tokens.iter().enumerate() {
            let balance = returned::<balanceOfCall>(answers.get(index + 1));
            if balance.is_none() {
                tracing::warn!(chain = chain.id, token = %token.address, symbol = token.symbol,
                    "no ERC-20 answers at this address of chains.tokens");
                account.silent.push(token.address);
            }
            account.tokens.push(balance.unwrap_or_default());
        }
        Ok(account)
    }

    /// Marks the markets in which the index has an event of the wallet: an event proves a position, as a trace does.
    pub(crate) fn add_indexed(&mut self, indexed: &[bool]) {
        self.ever_held.iter_mut().zip(indexed).for_each(|(held, indexed)| *held |= indexed);
    }

    /// Whether the wallet is known to have had a position in each market.
    pub(crate) fn ever_held(&self) -> &[bool] {
        &self.ever_held
    }

    /// The balances in each market that are known to have changed.
    pub(crate) fn touched(&self) -> &[Vec<(Side, Asset)>] {
        &self.touched
    }

    /// For each market, why no history in it can be complete; `None` if it can.
    pub(crate) fn lacks(&self) -> Vec<Option<&'static str>> {
        self.markets.iter().map(|market| market.as_ref().and_then(|(terms, _)| terms.lacks())).collect()
    }

    /// The amounts of each asset, one entry per market; `None` for a market that cannot be read.
    pub(crate) fn amounts(&self) -> Vec<Option<Vec<Balance>>> {
        self.markets.iter().map(|read| read.as_ref().and_then(|(terms, answers)| terms.balances(answers))).collect()
    }

    /// The lending positions in all markets.
    pub(crate) fn positions(&self, chain: &ChainConfig, markets: &[Market], prices: &Prices) -> Positions {
        let mut found = Positions::default();
        for (index, (market, read)) in markets.iter().zip(&self.markets).enumerate() {
            let Some(held) = read.as_ref().and_then(|(terms, answers)| terms.held_at(answers, prices)) else {
                tracing::warn!(chain = chain.id, market = %market.config.address, "a position cannot be read or \
                                                                                   priced");
                found.unread.push(index);
                found.details.push(market.config.protocol.has_details().then_some(PositionFeatures::UNREAD));
                continue;
            };
            found.details.push(market.config.protocol.has_details().then(|| detail(chain, &held)));
            if held.parts.lacking {
                found.lacking.push(index);
            }
            found.unpriced.extend(held.parts.unpriced.iter().map(|token| (index, *token)));
            if held.supplied_usd > 0.0 || held.borrowed_usd > 0.0 {
                found.positions.push(Position {
                    chain_id: chain.id,
                    protocol: market.config.protocol,
                    market_address: market.config.address,
                    market: market.config.market.clone(),
                    supplied_usd: held.supplied_usd,
                    borrowed_usd: held.borrowed_usd,
                    supplied_assets: held.supplied_assets,
                });
            }
        }
        found
    }

    /// The terms of a market; `None` if it was not looked up.
    pub(crate) fn terms(&self, index: usize) -> Option<&MarketTerms> {
        self.markets.get(index)?.as_ref().map(|(terms, _)| terms)
    }

    /// Makes the position in a market unread.
    pub(crate) fn forget(&mut self, index: usize) {
        self.markets.iter_mut().skip(index).take(1).for_each(|market| *market = None);
    }

    /// Replaces the terms of a market by those of the `parts` that the wallet used, of which the chain's sources price
    /// some tokens, and reads the position by them; `None` makes it unread.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer. The position is then unread.
    pub(crate) async fn read_parts(
        &mut self,
        wallet: Address,
        index: usize,
        parts: Option<Box<dyn Parts>>,
        prices: &Prices,
        state: &ChainState<'_>,
    ) -> Result<(), Fault> {
        let ChainState { client, config: chain, head } = *state;
        let Some(market) = self.markets.get_mut(index) else { return Ok(()) };
        *market = None;
        let Some(parts) = parts else { return Ok(()) };
        let configured = |token| chain.tokens.iter().find(|known| known.address == token).map(|known| known.decimals);
        let native = |token| chain.native.wrapped.filter(|wrapped| *wrapped == token).map(|_| NATIVE_DECIMALS);
        let decimals = |token| configured(token).or_else(|| native(token));
        let terms = parts.priced(&|token| {
            let decimals = decimals(token);
            (decimals.is_some() || prices.contains_key(&Some(token))).then_some(decimals)
        });
        let calls = terms.calls(wallet);
        let answers = match terms.bounds() {
            _ if calls.is_empty() => Vec::new(),
            None => client.shared_calls(calls, head.hash).await?,
            Some(bounds) => {
                client
                    .stranger_calls(&calls.into_iter().map(|call| (call, bounds)).collect::<Vec<_>>(), head.hash)
                    .await?
            }
        };
        *market = Some((terms, answers));
        Ok(())
    }

    /// Adds the single events to the histories. The terms of a market tell the token of an amount. Events are as
    /// complete as their history.
    pub(crate) fn add_events(&self, chain: &ChainConfig, pools: &mut [PoolHistory], pasts: &AllPasts) {
        for ((pool, past), read) in pools.iter_mut().zip(pasts).zip(&self.markets) {
            let asset = |side, asset| {
                let (token, unit) = read.as_ref()?.0.token(side, asset)?;
                Some((chain.exposure(token), unit))
            };
            if let Some(past) = past {
                pool.events = past.resolved(pool.coverage, &pool.counts, asset);
            }
        }
    }

    /// The balances above zero, with prices if there are any.
    pub(crate) fn holdings(&self, chain: &ChainConfig, prices: &Prices) -> Vec<TokenBalance> {
        let native = TokenBalance {
            chain_id: chain.id,
            contract: None,
            symbol: chain.native.symbol.clone(),
            name: chain.native.name.as_ref().unwrap_or(&chain.native.symbol).clone(),
            amount: self.native,
            decimals: NATIVE_DECIMALS,
            price: prices.get(&None).copied(),
            class: AssetClass::Native,
        };
        let tokens = chain.tokens.iter().zip(&self.tokens).map(|(token, amount)| TokenBalance {
            chain_id: chain.id,
            contract: Some(token.address),
            symbol: token.symbol.clone(),
            name: token.name.as_ref().unwrap_or(&token.symbol).clone(),
            amount: *amount,
            decimals: token.decimals,
            price: prices.get(&Some(token.address)).copied(),
            class: token.class,
        });
        // A configured token that shows the native balance again is not another holding.
        let is_mirror = |held: &TokenBalance| held.contract.is_some_and(|token| chain.native.mirrors.contains(&token));
        std::iter::once(native).chain(tokens).filter(|held| !held.amount.is_zero() && !is_mirror(held)).collect()
    }
}

/// The details of a position, with its assets by class.
fn detail(chain: &ChainConfig, held: &Held) -> PositionFeatures {
    let HeldParts { collateral, debt, threshold, health_factor, lacking, unpriced } = &held.parts;
    PositionFeatures {
        coverage: if *lacking || !unpriced.is_empty() { Coverage::Partial } else { Coverage::Complete },
        collateral: exposures(chain, collateral),
        debt: exposures(chain, debt),
        liquidation_threshold: *threshold,
        health_factor: *health_factor,
        utilisation: (held.supplied_usd > 0.0).then(|| held.borrowed_usd / held.supplied_usd),
    }
}

fn exposures(chain: &ChainConfig, of: &[(Address, f64)]) -> Vec<Exposure> {
    let mut by_class = BTreeMap::<ExposureClass, f64>::new();
    for (asset, usd) in of {
        *by_class.entry(chain.exposure(*asset)).or_default() += usd;
    }
    by_class.into_iter().map(|(class, usd)| Exposure { class, usd }).collect()
}

/// Takes the next `count` answers.
fn take<'a>(rest: &mut &'a [Option<Bytes>], count: usize) -> &'a [Option<Bytes>] {
    let (own, after) = rest.split_at(count.min(rest.len()));
    *rest = after;
    own
}
