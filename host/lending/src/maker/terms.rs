//! The contracts, which the ChainLog names, and the vaults of a wallet.

use std::collections::BTreeSet;

use alloy::{primitives::Bytes, sol};
use futures::FutureExt;

use super::{
    logs::{FORK, FROB, GIVE, GRAB, NEW_VAULT},
    positions::Holdings,
};
use crate::{
    balance::Balance,
    config::MarketConfig,
    hints::{Alias, Hint, Naming},
    protocol::{FoundAliases, FoundParts, Held, LendingTerms, Parts, Used},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function getAddress(bytes32 key) external view returns (address contractAddress);
    function proxies(address owner) external view returns (address proxy);
    function owner() external view returns (address owner);
    #[derive(Debug)]
    function getCdpsAsc(address manager, address guy)
        external view returns (uint256[] ids, address[] urns, bytes32[] ilks);
    function urns(uint256 cdp) external view returns (address urn);
    function ilks(uint256 cdp) external view returns (bytes32 ilk);
}

/// By their names in the ChainLog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    pub vat: Address,
    manager: Address,
    registry: Address,
    lists: Address,
    pub spotter: Address,
    pub jug: Address,
    pub kinds: Address,
    pub dai: Address,
}

const NAMES: [&str; 8] =
    ["MCD_VAT", "CDP_MANAGER", "PROXY_REGISTRY", "GET_CDPS", "MCD_SPOT", "MCD_JUG", "ILK_REGISTRY", "MCD_DAI"];

impl Terms {
    /// Looks up all of `markets` together. `None` where the ChainLog lacks a contract or has another Vat.
    pub(super) async fn look_up(
        client: &Client,
        markets: &[&MarketConfig],
        at: B256,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let all = |market: &&MarketConfig| {
            let chainlog = market.chainlog.unwrap_or_default();
            NAMES.map(|name| Call::new(chainlog, &getAddressCall { key: key(name) }))
        };
        let answers = client.calls(&markets.iter().flat_map(all).collect::<Vec<_>>(), at).await?;
        let found = |(market, answers): (&&MarketConfig, &[Option<Bytes>])| {
            let all: Option<Vec<Address>> =
                answers.iter().map(|answer| returned::<getAddressCall>(Some(answer))).collect();
            let [vat, manager, registry, lists, spotter, jug, kinds, dai] = all?.try_into().ok()?;
            let terms = Self { vat, manager, registry, lists, spotter, jug, kinds, dai };
            Some(terms).filter(|terms| terms.vat == market.address)
        };
        Ok(markets.iter().zip(answers.chunks(NAMES.len())).map(found).collect())
    }

    /// What stands for `wallet`: its proxy, and the vaults of both. `None` where a contract does not answer.
    async fn names(
        self,
        client: &Client,
        wallet: Address,
        known: &BTreeSet<B256>,
        at: Block,
    ) -> Result<Option<Vec<Hint>>, Fault> {
        let Self { manager, registry, lists, .. } = self;
        let list = |guy| Call::new(lists, &getCdpsAscCall { manager, guy });
        let first = [Call::new(registry, &proxiesCall { owner: wallet }), list(wallet)];
        let answers = client.shared_calls(first.into(), at.hash).await?;
        let (Some(proxy), Some(own)) =
            (returned::<proxiesCall>(answers.first()), returned::<getCdpsAscCall>(answers.get(1)))
        else {
            return Ok(None);
        };
        let (mut hints, mut vaults) = (Vec::new(), listed(&own));
        // A vault that the wallet gave away is in no list.
        let once: Vec<B256> =
            known.iter().filter(|id| is_number(**id) && !vaults.iter().any(|v| v.0 == **id)).copied().collect();
        let mut second: Vec<Call> = once.iter().flat_map(|id| of_number(manager, *id)).collect();
        if !proxy.is_zero() && proxy != wallet {
            second.extend([Call::new(proxy, &ownerCall {}), list(proxy)]);
        }
        let answers = if second.is_empty() { Vec::new() } else { client.shared_calls(second, at.hash).await? };
        let (of_numbers, of_proxy) = answers.split_at(once.len().saturating_mul(2).min(answers.len()));
        if let [owner, list] = of_proxy {
            let is_own = returned::<ownerCall>(Some(owner)) == Some(wallet);
            hints.extend(self.account(proxy, if is_own { Alias::Account } else { Alias::Lost }));
            if is_own {
                let Some(list) = returned::<getCdpsAscCall>(Some(list)) else { return Ok(None) };
                vaults.extend(listed(&list));
            }
        }
        for (id, urn, ilk) in &vaults {
            hints.extend(self.vault(*id, *urn, *ilk, true));
        }
        for (id, answers) in once.iter().zip(of_numbers.chunks(2)).filter(|(id, _)| !vaults.iter().any(|v| v.0 == **id))
        {
            let both = returned::<urnsCall>(answers.first()).zip(returned::<ilksCall>(answers.get(1)));
            let Some((urn, ilk)) = both else { return Ok(None) };
            hints.extend(self.vault(*id, urn, ilk, false));
        }
        Ok(Some(hints))
    }

    /// The logs by which `account` gets a vault.
    fn account(&self, account: Address, of: Alias) -> [Hint; 2] {
        let alias = Naming::Alias { topic: 2, word: account.into_word(), of };
        [NEW_VAULT, GIVE].map(|topic0| hint(self.manager, topic0, alias))
    }

    /// The logs of a vault.
    fn vault(&self, id: B256, urn: Address, ilk: B256, is_owned: bool) -> [Hint; 5] {
        let alias = |topic, word| Naming::Alias { topic, word, of: Alias::Part { id, kind: ilk, is_owned } };
        let of_urn = |topic0, topic| hint(self.vat, topic0, alias(topic, urn.into_word()));
        let given = hint(self.manager, GIVE, alias(1, id));
        [of_urn(FROB, 2), of_urn(GRAB, 2), of_urn(FORK, 2), of_urn(FORK, 3), given]
    }
}

fn hint(contract: Address, topic0: B256, naming: Naming) -> Hint {
    Hint { contract, topic0, naming, explained_by: &[] }
}

/// The key of a contract in the ChainLog.
pub(super) fn key(name: &str) -> B256 {
    B256::right_padding_from(name.as_bytes())
}

/// Whether a part of a position is a vault. The names of collateral begin with a letter.
pub(super) fn is_number(id: B256) -> bool {
    id.first() == Some(&0)
}

/// Number, urn and kind of collateral of each vault in a list.
fn listed(list: &getCdpsAscReturn) -> Vec<(B256, Address, B256)> {
    let vaults = list.ids.iter().zip(&list.urns).zip(&list.ilks);
    vaults.map(|((id, urn), ilk)| (B256::from(*id), *urn, *ilk)).collect()
}

fn of_number(manager: Address, id: B256) -> [Call; 2] {
    let cdp = U256::from_be_bytes(id.0);
    [Call::new(manager, &urnsCall { cdp }), Call::new(manager, &ilksCall { cdp })]
}

impl LendingTerms for Terms {
    fn calls(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    /// A wallet without any vault.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// A wallet keeps its empty vaults.
    fn traces(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    fn ever_held(&self, _: &[Option<Bytes>]) -> bool {
        false
    }

    /// The logs by which a wallet gets a vault, and a vault, whose number stands for it, another owner.
    fn hints(&self) -> Vec<Hint> {
        let at = |topic0, topic| hint(self.manager, topic0, Naming::At(topic));
        vec![at(NEW_VAULT, 2), at(GIVE, 2), at(GIVE, 1)]
    }

    fn aliases<'a>(
        &'a self,
        client: &'a Client,
        wallet: Address,
        known: &'a BTreeSet<B256>,
        at: Block,
    ) -> Option<FoundAliases<'a>> {
        Some(self.names(client, wallet, known, at).boxed())
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let asked = Holdings::asked(self, wallet, used);
        let read = async move {
            let held = Holdings::look_up(client, *self, asked, at).await?;
            Ok(held.map(|held| Box::new(held) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
