//! The tokens of deposits, and what a wallet has of them and of positions, in one call each.

use std::sync::Arc;

use alloy::{
    primitives::{Bytes, map::HashSet},
    sol,
};
use futures::FutureExt;

use super::{
    events::{self, ID, OPERATED},
    position::FluidPositions,
    share::ShareToken,
};
use crate::{
    config::MarketConfig,
    figures::hints::{Emitter, Hint, Naming, TRANSFER},
    limits,
    protocols::{FoundParts, LendingTerms, Parts, Used},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function totalVaults() external view returns (uint256 count);
    function allTokens() external view returns (address[] tokens);
    function asset() external view returns (address token);
    function balanceOf(address owner) external view returns (uint256 balance);
}

/// What a wallet has, by the answers to the calls of [`FluidTerms`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Balances {
    pub positions: U256,
    /// One entry per token.
    pub shares: Vec<U256>,
}

#[derive(Debug, Clone)]
pub(super) struct FluidTerms {
    factory: Address,
    /// `false` in the past, before the factory.
    has_vaults: bool,
    vaults: Arc<HashSet<Address>>,
    tokens: Arc<[ShareToken]>,
}

impl FluidTerms {
    /// Looks up `markets` together. `None` for contracts that do not answer as a vault factory and a lending factory.
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: B256,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let both = |market: &&MarketConfig| {
            let lending = market.lending_factory.unwrap_or_default();
            [Call::new(market.address, &totalVaultsCall {}), Call::new(lending, &allTokensCall {})]
        };
        let answers = client.calls(&markets.iter().flat_map(both).collect::<Vec<_>>(), at).await?;
        let mut found = Vec::new();
        for (market, answers) in markets.iter().zip(answers.chunks(2)) {
            let tokens = returned::<allTokensCall>(answers.get(1));
            let Some(tokens) = tokens.filter(|tokens| tokens.len() <= limits::LISTED_PARTS) else {
                found.push(None);
                continue;
            };
            // The lending factory is older, so a moment in the past may lack the vaults.
            let count = returned::<totalVaultsCall>(answers.first());
            let has_vaults = count.is_some();
            let Some(count) = usize::try_from(count.unwrap_or_default()).ok().filter(|n| *n <= limits::LISTED_PARTS)
            else {
                found.push(None);
                continue;
            };
            let vaults = Arc::new((1..).take(count).map(|number| market.address.create(number)).collect());
            if !has_vaults && client.without_code(&[market.address], at).await?.is_empty() {
                found.push(None);
                continue;
            }
            let calls: Vec<_> = tokens.iter().map(|token| Call::new(*token, &assetCall {})).collect();
            let assets = client.calls(&calls, at).await?;
            let share = |(token, answer): (&Address, &Option<Bytes>)| {
                Some(ShareToken { token: *token, asset: returned::<assetCall>(Some(answer))? })
            };
            let tokens: Option<Arc<[ShareToken]>> = tokens.iter().zip(&assets).map(share).collect();
            found.push(tokens.map(|tokens| Self { factory: market.address, has_vaults, vaults, tokens }));
        }
        Ok(found)
    }

    fn balances_in(&self, answers: &[Option<Bytes>]) -> Option<Balances> {
        let balance = |answer| returned::<balanceOfCall>(Some(answer));
        let (of_factory, of_tokens) = answers.split_at(usize::from(self.has_vaults).min(answers.len()));
        let positions = if self.has_vaults { balance(of_factory.first()?)? } else { U256::ZERO };
        let shares: Vec<U256> = of_tokens.iter().map(balance).collect::<Option<_>>()?;
        (shares.len() == self.tokens.len()).then_some(Balances { positions, shares })
    }
}

impl LendingTerms for FluidTerms {
    /// The number of positions, and the shares of each token.
    fn calls(&self, wallet: Address) -> Vec<Call> {
        let contracts = self.has_vaults.then_some(self.factory).into_iter();
        let contracts = contracts.chain(self.tokens.iter().map(|share| share.token));
        contracts.map(|contract| Call::new(contract, &balanceOfCall { owner: wallet })).collect()
    }

    /// Transfers of the tokens of deposits, and what was done in vaults.
    fn hints(&self) -> Vec<Hint> {
        let of = |share: &ShareToken| {
            [1, 2].map(|topic| Hint {
                contract: share.token.into(),
                topic0: TRANSFER,
                naming: Naming::At(topic),
                explained_by: &[],
            })
        };
        let operated = (!self.vaults.is_empty()).then(|| Hint {
            contract: Emitter::Set(self.vaults.clone()),
            topic0: OPERATED,
            naming: Naming::Number(ID),
            explained_by: &[],
        });
        self.tokens.iter().flat_map(of).chain(operated).collect()
    }

    fn states_its_parts(&self) -> bool {
        true
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let (balances, is_counted) = (self.balances_in(used.answers), used.is_counted);
        let past = used.sums.markets().into_iter().filter(|part| events::is_position(*part)).collect();
        let read = async move {
            let Some(balances) = balances else { return Ok(None) };
            let shares = self.tokens.iter().copied().zip(balances.shares).collect();
            let found = FluidPositions::look_up(client, self.factory, wallet, balances.positions, past, at).await?;
            Ok(found.map(|found| Box::new(found.with(shares, is_counted)) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
