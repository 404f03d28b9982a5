//! The terms: the list of all vaults, and the accounts of a wallet by the connector.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use alloy::{
    primitives::{Bytes, map::HashSet},
    sol,
};
use futures::FutureExt;

use super::{
    accounts::{part, prefix},
    events::{CALL, NAMED},
    position::{Request, UsedVaults},
};
use crate::{
    asset::Asset,
    config::MarketConfig,
    figures::{
        balance::Balance,
        hints::{Alias, Emitter, Hint, Naming},
        record::Side,
    },
    limits,
    protocols::{FoundAliases, FoundParts, Held, LendingTerms, Parts, Used},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function getProxyListLength() external view returns (uint256 number);
    function getProxyListSlice(uint256 start, uint256 end) external view returns (address[] memory list);
    function getAccountOwner(address account) external view returns (address owner);
    function EVC() external view returns (address connector);
    function balanceOf(address account) external view returns (uint256 shares);
}

#[derive(Debug, Clone)]
pub(super) struct EulerTerms {
    factory: Address,
    connector: Address,
    vaults: Arc<HashSet<Address>>,
    /// Whether the factory was seen to have more vaults than these.
    has_grown: Arc<AtomicBool>,
    /// The vaults in which the wallet's shares are read, if nothing but one endpoint tells of logs.
    traced: Vec<Address>,
}

impl EulerTerms {
    /// Looks up `markets` together. `None` for a factory that does not answer, has too many vaults, or whose vaults
    /// have another connector.
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: Block,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let both = |market: &&MarketConfig| {
            let connector = market.evc.unwrap_or_default();
            let owner = getAccountOwnerCall { account: Address::ZERO };
            [Call::new(market.address, &getProxyListLengthCall {}), Call::new(connector, &owner)]
        };
        let answers = client.calls(&markets.iter().flat_map(both).collect::<Vec<_>>(), at.hash).await?;
        let number = |answers: &[Option<Bytes>]| {
            returned::<getAccountOwnerCall>(answers.get(1))?;
            let number = usize::try_from(returned::<getProxyListLengthCall>(answers.first())?).ok()?;
            Some(number).filter(|number| *number <= limits::LISTED_PARTS)
        };
        let mut found = Vec::new();
        for (market, answers) in markets.iter().zip(answers.chunks(2)) {
            found.push(match number(answers) {
                Some(number) => Self::listed(client, market, number, at).await?,
                None => None,
            });
        }
        Ok(found)
    }

    async fn listed(client: &Client, market: &MarketConfig, number: usize, at: Block) -> Result<Option<Self>, Fault> {
        let starts = (0..number).step_by(limits::LISTED_PER_SLICE);
        let slices: Vec<Call> = starts
            .map(|start| {
                let end = start.saturating_add(limits::LISTED_PER_SLICE).min(number);
                let slice = getProxyListSliceCall { start: U256::from(start), end: U256::from(end) };
                Call::new(market.address, &slice)
            })
            .collect();
        if slices.is_empty() {
            return Ok(Self::of(client, market, Vec::new()));
        }
        let answers = client.calls(&slices, at.hash).await?;
        let lists = answers.iter().map(|answer| returned::<getProxyListSliceCall>(Some(answer)));
        let Some(vaults) = lists.collect::<Option<Vec<_>>>().map(|lists| lists.concat()) else { return Ok(None) };
        let Some(first) = vaults.first() else { return Ok(None) };
        let answers = client.calls(&[Call::new(*first, &EVCCall {})], at.hash).await?;
        let is_of = returned::<EVCCall>(answers.first()) == market.evc;
        Ok(if is_of { Self::of(client, market, vaults) } else { None })
    }

    fn of(client: &Client, market: &MarketConfig, mut vaults: Vec<Address>) -> Option<Self> {
        vaults.sort_unstable();
        let set = vaults.iter().copied().collect();
        let is_alone = client.other_endpoints().is_none();
        let traced = if is_alone { vaults } else { Vec::new() };
        let (factory, has_grown) = (market.address, Arc::default());
        Some(Self { factory, connector: market.evc?, vaults: Arc::new(set), has_grown, traced })
    }

    fn hint(&self, topic0: B256, naming: Naming) -> Hint {
        Hint { contract: Emitter::Set(self.vaults.clone()), topic0, naming, explained_by: &[] }
    }

    /// The accounts of `wallet`, by their owner in the connector. `None` if there is a vault whose logs would not be
    /// read: a history that leaves it out must not be kept.
    async fn accounts(&self, client: &Client, wallet: Address, at: Block) -> Result<Option<Vec<Hint>>, Fault> {
        let asked = vec![
            Call::new(self.connector, &getAccountOwnerCall { account: wallet }),
            Call::new(self.factory, &getProxyListLengthCall {}),
        ];
        let answers = client.shared_calls(asked, at.hash).await?;
        let Some(owner) = returned::<getAccountOwnerCall>(answers.first()) else { return Ok(None) };
        let Some(number) = returned::<getProxyListLengthCall>(answers.get(1)) else { return Ok(None) };
        if number > U256::from(self.vaults.len()) {
            self.has_grown.store(true, Ordering::Relaxed);
            return Ok(None);
        }
        let of_connector = |naming| Hint { contract: self.connector.into(), topic0: CALL, naming, explained_by: &[] };
        Ok(Some(if owner.is_zero() || self.vaults.is_empty() {
            Vec::new()
        } else if owner == wallet {
            let accounts = NAMED.map(|(topic0, topic)| self.hint(topic0, Naming::Accounts(topic)));
            let calls = Naming::Alias { topic: 2, word: prefix(wallet), of: Alias::Account };
            [accounts.as_slice(), &[of_connector(calls)]].concat()
        } else {
            vec![of_connector(Naming::Never { topic: 2, word: prefix(wallet) })]
        }))
    }
}

impl LendingTerms for EulerTerms {
    /// The position of a wallet without any part.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// The shares in every vault. A wallet that left a vault has no trace there.
    fn traces(&self, wallet: Address) -> Vec<Call> {
        self.traced.iter().map(|vault| Call::new(*vault, &balanceOfCall { account: wallet })).collect()
    }

    fn touched(&self, answers: &[Option<Bytes>], wallet: Address) -> Vec<(Side, Asset)> {
        let shares = answers.iter().map(|answer| returned::<balanceOfCall>(Some(answer)));
        let held = self.traced.iter().zip(shares).filter(|(_, shares)| shares.is_some_and(|shares| !shares.is_zero()));
        held.map(|(vault, _)| (Side::Supply, Asset::Shares(part(*vault, wallet)))).collect()
    }

    fn is_whole(&self) -> bool {
        !self.has_grown.load(Ordering::Relaxed)
    }

    fn lacks_parts(&self, answers: &[Option<Bytes>]) -> bool {
        let read = answers.iter().filter(|answer| returned::<balanceOfCall>(Some(*answer)).is_some()).count();
        self.traced.is_empty() && !self.vaults.is_empty() || read != self.traced.len()
    }

    fn hints(&self) -> Vec<Hint> {
        // A query of no contracts would be one of all.
        if self.vaults.is_empty() {
            return Vec::new();
        }
        NAMED.map(|(topic0, topic)| self.hint(topic0, Naming::At(topic))).into()
    }

    fn aliases<'a>(
        &'a self,
        client: &'a Client,
        wallet: Address,
        _: &'a BTreeSet<B256>,
        at: Block,
    ) -> Option<FoundAliases<'a>> {
        Some(self.accounts(client, wallet, at).boxed())
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let asked = Request::of(self.connector, self.vaults.clone(), &self.traced, wallet, used);
        let read = async move {
            let found = UsedVaults::look_up(client, asked, at).await?;
            Ok(found.map(|found| Box::new(found) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
