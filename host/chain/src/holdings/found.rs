//! Tokens that are not configured: a source lists the contracts that ever transferred something from or to an address,
//! and the chain returns what the address holds now. Prices are looked up by contract, never by name, because any
//! contract can use any name.

use std::collections::{BTreeMap, BTreeSet};

use alloy::{primitives::Bytes, sol};

use super::{
    label,
    pair::{self, PoolClaim, PoolShare},
    receipts::Receipts,
    tokens::{self, TokenRecord},
};
use crate::{
    activity::records::{ActivityProgress, NftRecord},
    config::ChainConfig,
};
use assay_domain::{Address, AssetClass, Nft, Price, PriceSource, Prices, TokenBalance, U256};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Bounds, Client},
    fault::Fault,
};
use assay_lending::ChainTerms;
use assay_store::Store;

sol! {
    function balanceOf(address owner) external view returns (uint256 balance);
    function ownerOf(uint256 id) external view returns (address owner);
    interface Multi { function balanceOf(address owner, uint256 id) external view returns (uint256 balance); }
}

/// Finds the tokens of an address that are not configured on one chain.
pub(crate) struct Finder {
    client: Client,
    store: Store,
    chain: ChainConfig,
    /// Tokens that are counted as something else: configured tokens, mirrors of the native currency, and markets that
    /// are tokens themselves.
    excluded: BTreeSet<Address>,
}

/// The tokens that were found, without prices.
#[derive(Debug, Default)]
pub(crate) struct FoundTokens {
    held: Vec<(Address, U256)>,
    /// Contracts that failed to answer for a balance.
    silent: Vec<Address>,
    pairs: BTreeMap<Address, PoolShare>,
    records: BTreeMap<Address, TokenRecord>,
    pub nfts: Vec<Nft>,
    /// Everything listed was looked up.
    pub complete: bool,
}

impl Finder {
    pub(crate) fn new(client: Client, store: Store, chain: &ChainConfig) -> Self {
        let markets = chain.markets.iter().map(|market| market.address);
        let configured = chain.tokens.iter().map(|token| token.address);
        let excluded = configured.chain(chain.native.mirrors.iter().copied()).chain(markets).collect();
        Self { client, store, chain: chain.clone(), excluded }
    }

    /// What `wallet` holds of the `listed` tokens after `head`, except those that are part of a position in a market.
    /// The markets' `terms` are `None` if they cannot be read.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer.
    pub(crate) async fn find(
        &self,
        wallet: Address,
        listed: &ActivityProgress,
        terms: Option<ChainTerms>,
        head: Block,
    ) -> Result<FoundTokens, Fault> {
        let receipts = Receipts::new(&self.chain, terms.as_ref());
        let is_counted = |token: &Address| self.excluded.contains(token) || receipts.contains(token);
        let tokens: Vec<_> = listed.tokens.keys().filter(|token| !is_counted(token)).copied().collect();
        if tokens.is_empty() && listed.nfts.is_empty() {
            return Ok(FoundTokens { complete: true, ..FoundTokens::default() });
        }
        let balances = tokens.iter().map(|token| Call::new(*token, &balanceOfCall { owner: wallet }));
        let calls = balances.chain(listed.nfts.iter().map(|nft| ownership(nft, wallet)));
        let calls: Vec<_> = calls.map(|call| (call, Bounds::TOKEN)).collect();
        let answers = self.client.stranger_calls(&calls, head.hash).await?;
        let (balances, owners) = answers.split_at(tokens.len().min(answers.len()));
        let mut held = held(&tokens, balances);
        let silent = silent(&tokens, balances);
        let is_unknown = receipts.remove_unknown(&self.client, &mut held, head).await?;
        let nfts: Vec<_> =
            listed.nfts.iter().zip(owners).filter(|(nft, answer)| is_owner(nft, wallet, answer)).collect();
        let contracts: BTreeSet<_> =
            held.iter().map(|(token, _)| *token).chain(nfts.iter().map(|(nft, _)| nft.contract)).collect();
        let contracts: Vec<_> = contracts.into_iter().collect();
        let mut records = tokens::records(&self.client, &self.store, self.chain.id, &contracts, head.hash).await?;
        let (pairs, sides) = self.pairs(&held, &records, head).await?;
        records.extend(sides);
        let nfts = nfts.into_iter().map(|(nft, _)| self.nft(nft, &records)).collect();
        Ok(FoundTokens { held, silent, pairs, records, nfts, complete: !is_unknown })
    }

    /// The pools among `held`, and the records of their tokens.
    async fn pairs(
        &self,
        held: &[(Address, U256)],
        records: &BTreeMap<Address, TokenRecord>,
        head: Block,
    ) -> Result<(BTreeMap<Address, PoolShare>, BTreeMap<Address, TokenRecord>), Fault> {
        let claim = |token: Address| {
            let record = records.get(&token)?;
            let factory = record.factory.filter(|factory| self.chain.pair_factories.contains(factory))?;
            Some(PoolClaim { pair: token, tokens: record.pair?, factory })
        };
        let claims: Vec<_> = held.iter().filter_map(|(token, _)| claim(*token)).collect();
        if claims.is_empty() {
            return Ok((BTreeMap::new(), BTreeMap::new()));
        }
        let calls = claims.iter().flat_map(|claim| claim.questions());
        let calls: Vec<_> = calls.map(|call| (call, Bounds::TOKEN)).collect();
        let answers = self.client.stranger_calls(&calls, head.hash).await?;
        let pools = claims.iter().zip(answers.chunks(pair::QUESTIONS));
        let pools: BTreeMap<_, _> =
            pools.filter_map(|(claim, answers)| Some((claim.pair, claim.confirmed(answers)?))).collect();
        let sides: BTreeSet<_> =
            claims.iter().filter(|claim| pools.contains_key(&claim.pair)).flat_map(|claim| claim.tokens).collect();
        let sides: Vec<_> = sides.into_iter().collect();
        let sides = tokens::records(&self.client, &self.store, self.chain.id, &sides, head.hash).await?;
        Ok((pools, sides))
    }

    fn nft(&self, nft: &NftRecord, records: &BTreeMap<Address, TokenRecord>) -> Nft {
        let record = records.get(&nft.contract);
        let collection = record.and_then(|record| record.name.clone().or_else(|| record.symbol.clone()));
        let collection = collection.unwrap_or_else(|| label::of_contract(nft.contract));
        Nft { chain_id: self.chain.id, name: label::of_token(&collection, nft.id), collection }
    }
}

/// The balances of the contracts that answer like a token.
fn held(tokens: &[Address], balances: &[Option<Bytes>]) -> Vec<(Address, U256)> {
    let held = tokens.iter().zip(balances).filter_map(|(token, answer)| {
        let balance = returned::<balanceOfCall>(Some(answer))?;
        (!balance.is_zero()).then_some((*token, balance))
    });
    held.collect()
}

/// The contracts whose call failed or reached a limit.
fn silent(tokens: &[Address], balances: &[Option<Bytes>]) -> Vec<Address> {
    tokens.iter().zip(balances).filter(|(_, answer)| answer.is_none()).map(|(token, _)| *token).collect()
}

impl FoundTokens {
    /// The contracts that failed to answer for a balance although they have a price. Without a price, a balance is in
    /// no figure: anybody can send such a token to any wallet.
    pub(crate) fn unread(&self, prices: &Prices) -> impl Iterator<Item = Address> {
        self.silent.iter().copied().filter(|token| prices.contains_key(&Some(*token)))
    }

    /// The contracts whose prices are needed.
    pub(crate) fn to_price(&self) -> Vec<Address> {
        let sides = self.pairs.keys().filter_map(|pair| self.records.get(pair)?.pair).flatten();
        let tokens: BTreeSet<_> =
            self.held.iter().map(|(token, _)| *token).chain(self.silent.iter().copied()).chain(sides).collect();
        tokens.into_iter().collect()
    }

    /// The balances, with prices if there are any.
    pub(crate) fn tokens(&self, chain: &ChainConfig, prices: &Prices) -> Vec<TokenBalance> {
        let decimals_of = |token: Address| self.records.get(&token).and_then(|record| record.decimals);
        let balance = |(token, amount): &(Address, U256)| {
            let record = self.records.get(token).cloned().unwrap_or_default();
            let share = self.pairs.get(token).zip(record.decimals);
            let share = share.map(|(pair, decimals)| {
                let usd = pair.price(*amount, decimals, prices, decimals_of)?;
                Some(Price { usd, source: PriceSource::Pool })
            });
            let class = match share {
                Some(_) => AssetClass::Liquidity,
                None if chain.native.wrapped == Some(*token) => AssetClass::Wrapped,
                None => AssetClass::Token,
            };
            // A price is for one whole token; without decimals the number of whole tokens is unknown.
            let listed = || prices.get(&Some(*token)).copied().filter(|_| record.decimals.is_some());
            let symbol = record.symbol.clone().unwrap_or_else(|| label::of_contract(*token));
            TokenBalance {
                chain_id: chain.id,
                contract: Some(*token),
                name: record.name.clone().unwrap_or_else(|| symbol.clone()),
                symbol,
                amount: *amount,
                decimals: record.decimals.unwrap_or(0),
                price: share.flatten().or_else(listed),
                class,
            }
        };
        self.held.iter().map(balance).collect()
    }
}

fn ownership(nft: &NftRecord, wallet: Address) -> Call {
    if nft.multi {
        Call::new(nft.contract, &Multi::balanceOfCall { owner: wallet, id: nft.id })
    } else {
        Call::new(nft.contract, &ownerOfCall { id: nft.id })
    }
}

fn is_owner(nft: &NftRecord, wallet: Address, answer: &Option<Bytes>) -> bool {
    if nft.multi {
        returned::<Multi::balanceOfCall>(Some(answer)).is_some_and(|balance| !balance.is_zero())
    } else {
        returned::<ownerOfCall>(Some(answer)) == Some(wallet)
    }
}
