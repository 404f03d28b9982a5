//! Implements the terms of a market for its contracts, and looks up the vaults of a wallet.

use std::collections::BTreeSet;

use alloy::{primitives::Bytes, sol};
use futures::FutureExt;

use super::{
    contracts::{Contracts, is_number},
    events::{FORK, FROB, GIVE, GRAB, NEW_VAULT},
    position::Holdings,
};
use crate::{
    figures::{
        balance::Balance,
        hints::{Alias, Hint, Naming},
    },
    protocols::{FoundAliases, FoundParts, Held, LendingTerms, Parts, Used},
};
use assay_domain::{Address, B256, U256};
use assay_evm::{Block, Call, Client, Fault, returned};

sol! {
    function proxies(address owner) external view returns (address proxy);
    function owner() external view returns (address owner);
    #[derive(Debug)]
    function getCdpsAsc(address manager, address guy)
        external view returns (uint256[] ids, address[] urns, bytes32[] ilks);
    function urns(uint256 cdp) external view returns (address urn);
    function ilks(uint256 cdp) external view returns (bytes32 ilk);
}

impl Contracts {
    /// The words that identify `wallet` in logs: its proxy, and the vaults that either owns or owned. `None` if a
    /// contract does not answer.
    async fn names(
        self,
        client: &Client,
        wallet: Address,
        known: &BTreeSet<B256>,
        at: Block,
    ) -> Result<Option<Vec<Hint>>, Fault> {
        let Self { registry, .. } = self;
        let first = vec![Call::new(registry, &proxiesCall { owner: wallet }), self.list(wallet)];
        let answers = client.shared_calls(first, at.hash).await?;
        let first = returned::<proxiesCall>(answers.first()).zip(returned::<getCdpsAscCall>(answers.get(1)));
        let Some((proxy, own)) = first else { return Ok(None) };
        let mut vaults = listed(&own);
        // A vault that the wallet gave away is in no list.
        let is_listed = |vaults: &[VaultRow], id: B256| vaults.iter().any(|(known, ..)| *known == id);
        let once = known.iter().copied().filter(|id| is_number(*id) && !is_listed(&vaults, *id));
        let once: Vec<B256> = once.collect();
        let mut second: Vec<Call> = once.iter().flat_map(|id| self.of_number(*id)).collect();
        if !proxy.is_zero() && proxy != wallet {
            second.extend([Call::new(proxy, &ownerCall {}), self.list(proxy)]);
        }
        let answers = if second.is_empty() { Vec::new() } else { client.shared_calls(second, at.hash).await? };
        let (of_numbers, of_proxy) = answers.split_at(once.len().saturating_mul(2).min(answers.len()));
        let mut hints = Vec::new();
        if let [owner, list] = of_proxy {
            let is_own = returned::<ownerCall>(Some(owner)) == Some(wallet);
            hints.extend(self.account(proxy, if is_own { Alias::Account } else { Alias::Lost }));
            let Some(list) = returned::<getCdpsAscCall>(Some(list)) else { return Ok(None) };
            vaults.extend(listed(&list).into_iter().filter(|_| is_own));
        }
        hints.extend(vaults.iter().flat_map(|vault| self.vault(*vault, true)));
        let once = once.iter().zip(of_numbers.chunks(2)).filter(|(id, _)| !is_listed(&vaults, **id));
        let once = once.map(|(id, answers)| numbered(*id, answers)).collect::<Option<Vec<_>>>();
        hints.extend(once.iter().flatten().flat_map(|vault| self.vault(*vault, false)));
        Ok(once.map(|_| hints))
    }

    /// The logs in which `account` receives a vault.
    fn account(&self, account: Address, of: Alias) -> [Hint; 2] {
        let alias = Naming::Alias { topic: 2, word: account.into_word(), of };
        [NEW_VAULT, GIVE].map(|topic0| hint(self.manager, topic0, alias))
    }

    /// The logs of a vault.
    fn vault(&self, (id, urn, ilk): VaultRow, is_owned: bool) -> [Hint; 5] {
        let alias = |topic, word| Naming::Alias { topic, word, of: Alias::Part { id, kind: ilk, is_owned } };
        let of_urn = |topic0, topic| hint(self.vat, topic0, alias(topic, urn.into_word()));
        let given = hint(self.manager, GIVE, alias(1, id));
        [of_urn(FROB, 2), of_urn(GRAB, 2), of_urn(FORK, 2), of_urn(FORK, 3), given]
    }

    /// The call for the vaults of an account.
    fn list(&self, guy: Address) -> Call {
        Call::new(self.lists, &getCdpsAscCall { manager: self.manager, guy })
    }

    /// The calls for the urn of a vault and its kind of collateral.
    fn of_number(&self, id: B256) -> [Call; 2] {
        let cdp = U256::from_be_bytes(id.0);
        [Call::new(self.manager, &urnsCall { cdp }), Call::new(self.manager, &ilksCall { cdp })]
    }
}

/// The number, the urn and the kind of collateral of a vault.
type VaultRow = (B256, Address, B256);

fn hint(contract: Address, topic0: B256, naming: Naming) -> Hint {
    Hint { contract, topic0, naming, explained_by: &[] }
}

fn listed(list: &getCdpsAscReturn) -> Vec<VaultRow> {
    let vaults = list.ids.iter().zip(&list.urns).zip(&list.ilks);
    vaults.map(|((id, urn), ilk)| (B256::from(*id), *urn, *ilk)).collect()
}

/// The vault with this number, read from the answers to the calls for it.
fn numbered(id: B256, answers: &[Option<Bytes>]) -> Option<VaultRow> {
    Some((id, returned::<urnsCall>(answers.first())?, returned::<ilksCall>(answers.get(1))?))
}

impl LendingTerms for Contracts {
    fn calls(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    /// The position of a wallet without any vault.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// Not needed: a wallet keeps its empty vaults.
    fn traces(&self, _: Address) -> Vec<Call> {
        Vec::new()
    }

    fn ever_held(&self, _: &[Option<Bytes>]) -> bool {
        false
    }

    /// The logs in which a wallet receives a vault, and in which a vault changes its owner.
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
        let asked = Holdings::asked(wallet, used);
        let read = async move {
            let held = Holdings::look_up(client, *self, asked, at).await?;
            Ok(held.map(|held| Box::new(held) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
