//! What an address holds and owes on one chain after one block: native balance, configured tokens and lending
//! positions, in one request where the chain has a Multicall3.

use alloy::{primitives::Bytes, sol};

use crate::config::ChainConfig;
use assay_domain::{Address, AssetClass, Position, Prices, TokenBalance, U256};
use assay_evm::{
    call::{Call, getEthBalanceCall, returned},
    client::{Block, Client},
    fault::Fault,
};
use assay_lending::{AllTerms, Balance, Market, MarketTerms};

sol! {
    function balanceOf(address owner) external view returns (uint256 balance);
}

/// The native currency of every supported chain has 18 decimals.
const NATIVE_DECIMALS: u8 = 18;

/// Balances and positions, without prices.
#[derive(Debug, Default)]
pub(crate) struct Account {
    native: U256,
    /// One entry per configured token.
    tokens: Vec<U256>,
    /// The answers of each market with its terms; `None` where the terms are unknown.
    markets: Vec<Option<(MarketTerms, Vec<Option<Bytes>>)>>,
    /// Whether the wallet ever had a position in each market, as far as that was asked.
    ever_held: Vec<bool>,
    /// Every token contract answered.
    pub complete: bool,
}

impl Account {
    /// Reads `wallet` in the state after `head`. The `blank` markets, whose stored history is empty, are also asked
    /// whether the wallet ever had a position.
    ///
    /// # Errors
    /// [`Fault`] where the chain did not answer. A single contract that does not answer makes the account incomplete.
    pub(crate) async fn read(
        client: &Client,
        chain: &ChainConfig,
        terms: &AllTerms,
        blank: &[bool],
        wallet: Address,
        head: Block,
    ) -> Result<Self, Fault> {
        let mut calls = vec![Call::Balance(wallet)];
        calls.extend(chain.tokens.iter().map(|token| Call::new(token.address, &balanceOfCall { owner: wallet })));
        let balances = calls.len();
        let plans: Vec<Vec<Call>> =
            terms.iter().map(|terms| terms.as_ref().map(|t| t.calls(wallet)).unwrap_or_default()).collect();
        let traces =
            terms.iter().zip(blank).map(|(terms, blank)| terms.as_ref().filter(|_| *blank).map(|t| t.traces(wallet)));
        let traces: Vec<Vec<Call>> = traces.map(Option::unwrap_or_default).collect();
        calls.extend(plans.iter().chain(&traces).flatten().cloned());
        let answers = client.calls(&calls, head.hash).await?;
        let (balances, mut rest) = answers.split_at(balances.min(answers.len()));
        let mut account = Self::balances(chain, balances)?;
        for (terms, plan) in terms.iter().zip(&plans) {
            let own = take(&mut rest, plan.len());
            account.markets.push(terms.clone().map(|terms| (terms, own.to_vec())));
        }
        let mut slots = Vec::new();
        for (index, (terms, asked)) in terms.iter().zip(&traces).enumerate() {
            let own = take(&mut rest, asked.len());
            account.ever_held.push(terms.as_ref().is_some_and(|terms| terms.ever_held(own)));
            slots.extend(terms.as_ref().and_then(|terms| Some((index, terms, terms.trace_slot(own, wallet)?))));
        }
        let words = client.storage(&slots.iter().map(|(.., slot)| *slot).collect::<Vec<_>>(), head.hash).await;
        for ((index, terms, _), word) in slots.into_iter().zip(words) {
            if let Some(held) = account.ever_held.get_mut(index) {
                *held |= word.is_some_and(|word| terms.is_trace(word));
            }
        }
        Ok(account)
    }

    /// The account with the native balance and those of the configured tokens.
    fn balances(chain: &ChainConfig, answers: &[Option<Bytes>]) -> Result<Self, Fault> {
        let native = returned::<getEthBalanceCall>(answers.first());
        let native = native.ok_or_else(|| Fault::Malformed("no native balance".into()))?;
        let mut account = Self { native, complete: true, ..Self::default() };
        for (index, token) in chain.tokens.iter().enumerate() {
            let balance = returned::<balanceOfCall>(answers.get(index + 1));
            if balance.is_none() {
                tracing::warn!(chain = chain.id, token = %token.address, symbol = token.symbol, "no ERC-20 answers at this address of chains.tokens");
                account.complete = false;
            }
            account.tokens.push(balance.unwrap_or_default());
        }
        Ok(account)
    }

    /// Whether the wallet is known to have had a position in each market.
    pub(crate) fn ever_held(&self) -> &[bool] {
        &self.ever_held
    }

    /// The amounts of each asset, one entry per market; `None` for a market that cannot be read.
    pub(crate) fn amounts(&self) -> Vec<Option<Vec<Balance>>> {
        self.markets.iter().map(|read| read.as_ref().and_then(|(terms, answers)| terms.balances(answers))).collect()
    }

    /// The lending positions, and whether that is all of them: one that cannot be read or priced is left out.
    pub(crate) fn positions(&self, chain: &ChainConfig, markets: &[Market], prices: &Prices) -> (Vec<Position>, bool) {
        let (mut positions, mut complete) = (Vec::new(), true);
        for (market, read) in markets.iter().zip(&self.markets) {
            let Some(held) = read.as_ref().and_then(|(terms, answers)| terms.held_at(answers, prices)) else {
                tracing::warn!(chain = chain.id, market = %market.config.address, "a position cannot be read or priced");
                complete = false;
                continue;
            };
            if held.supplied_usd > 0.0 || held.borrowed_usd > 0.0 {
                positions.push(Position {
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
        (positions, complete)
    }

    /// The balances above zero, with prices where there are any.
    pub(crate) fn holdings(&self, chain: &ChainConfig, prices: &Prices) -> Vec<TokenBalance> {
        let native = TokenBalance {
            chain_id: chain.id,
            contract: None,
            symbol: chain.native.symbol.clone(),
            name: chain.native.symbol.clone(),
            amount: self.native,
            decimals: NATIVE_DECIMALS,
            price_usd: prices.get(&None).copied(),
            class: AssetClass::Native,
        };
        let tokens = chain.tokens.iter().zip(&self.tokens).map(|(token, amount)| TokenBalance {
            chain_id: chain.id,
            contract: Some(token.address),
            symbol: token.symbol.clone(),
            name: token.symbol.clone(),
            amount: *amount,
            decimals: token.decimals,
            price_usd: prices.get(&Some(token.address)).copied(),
            class: token.class,
        });
        std::iter::once(native).chain(tokens).filter(|held| !held.amount.is_zero()).collect()
    }
}

/// Takes the next `count` answers.
fn take<'a>(rest: &mut &'a [Option<Bytes>], count: usize) -> &'a [Option<Bytes>] {
    let (own, after) = rest.split_at(count.min(rest.len()));
    *rest = after;
    own
}
