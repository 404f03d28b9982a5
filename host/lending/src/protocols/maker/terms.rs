//! Implements the terms of a market for its contracts, and looks up the vaults of a wallet.

use std::collections::BTreeSet;

use alloy::{primitives::Bytes, sol};
use futures::FutureExt;

use super::{
    contracts::{Contracts, MakerTerms},
    events::{EXECUTED, FORK, FROB, GIVE, GRAB, NEW_OWNER, NEW_VAULT},
    parts,
    position::{Holdings, urns_of},
    proxy::{VaultRow, listed},
};
use crate::{
    asset::Asset,
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
    function proxies(address owner) external view returns (address proxy);
    function urns(uint256 cdp) external view returns (address urn);
    function ilks(uint256 cdp) external view returns (bytes32 ilk);
}

impl Contracts {
    /// The words that identify `wallet` in logs: its proxies, and the vaults that it or one of them owns or owned.
    /// `None` if a contract does not answer.
    async fn names(
        self,
        client: &Client,
        wallet: Address,
        known: &BTreeSet<B256>,
        at: Block,
    ) -> Result<Option<Vec<Hint>>, Fault> {
        let first = vec![Call::new(self.registry, &proxiesCall { owner: wallet }), self.list(wallet)];
        let answers = client.shared_calls(first, at.hash).await?;
        let first = returned::<proxiesCall>(answers.first()).zip(listed(answers.get(1), wallet));
        let Some((built, own)) = first else { return Ok(None) };
        let received = known.iter().filter_map(|id| parts::account(*id)).map(Address::from_word);
        let built_one = Some(built).filter(|built| !built.is_zero() && *built != wallet);
        let accounts: Vec<Address> = built_one.into_iter().chain(received.filter(|one| *one != built)).collect();
        let once: BTreeSet<B256> = known.iter().filter_map(|id| parts::vault(*id)).collect();
        let once: Vec<B256> = once.into_iter().collect();
        // Anybody can open vaults for a wallet, or give it vaults and proxies.
        if accounts.len().saturating_add(once.len()).max(own.len()) > limits::POSITIONS {
            tracing::warn!(%wallet, most = limits::POSITIONS, "a wallet has more vaults and proxies than are read");
            return Ok(None);
        }
        let of_numbers = once.iter().flat_map(|id| self.of_number(*id)).collect();
        let (proxies, of_numbers) = tokio::try_join!(
            self.proxies(client, (&accounts, built_one), wallet, at),
            client.shared_calls(of_numbers, at.hash)
        )?;
        let Some(proxies) = proxies else { return Ok(None) };
        let mut vaults = own;
        let mut hints = Vec::new();
        for proxy in proxies {
            let is_built = Some(proxy.address) == built_one;
            let of = match (proxy.is_owned, proxy.is_proxy) {
                // The wallet itself lets others use the proxy that was built for it.
                (true, true) if is_built => Alias::Account,
                (true, true) if proxy.is_shared => Alias::Lost,
                (true, true) => Alias::Received,
                // Whoever made the contract may act for it.
                (true, false) if proxy.vaults.is_empty() => continue,
                (false, false) => continue,
                (true, false) | (false, true) => Alias::Lost,
            };
            hints.extend(self.account(proxy.address, of));
            vaults.extend(proxy.vaults.into_iter().filter(|_| of != Alias::Lost));
        }
        hints.extend(vaults.iter().flat_map(|(vault, holder)| self.vault(*vault, Some(*holder))));
        // A vault that the wallet gave away is in no list.
        let is_listed = |id: B256| vaults.iter().any(|((known, ..), _)| *known == id);
        let once = once.iter().zip(of_numbers.chunks(2)).filter(|(id, _)| !is_listed(**id));
        let once = once.map(|(id, answers)| numbered(*id, answers)).collect::<Option<Vec<_>>>();
        hints.extend(once.iter().flatten().flat_map(|vault| self.vault(*vault, None)));
        Ok(once.map(|_| hints))
    }

    /// The logs in which `account` receives a vault or gives one away, and those of its urns.
    fn account(&self, account: Address, of: Alias) -> [Hint; 7] {
        let word = account.into_word();
        let alias = |topic| Naming::Alias { topic, word, of };
        let of_urn = |topic0, topic| hint(self.vat, topic0, alias(topic));
        [
            hint(self.manager, NEW_VAULT, alias(2)),
            hint(self.manager, GIVE, alias(3)),
            hint(self.manager, GIVE, alias(1)),
            of_urn(FROB, 2),
            of_urn(GRAB, 2),
            of_urn(FORK, 2),
            of_urn(FORK, 3),
        ]
    }

    /// The logs of a vault, which `holder` has.
    fn vault(&self, (id, urn, ilk): VaultRow, holder: Option<Address>) -> [Hint; 5] {
        let holder = holder.map(|holder| holder.into_word());
        let alias = |topic, word| Naming::Alias { topic, word, of: Alias::Part { id, kind: ilk, holder } };
        let of_urn = |topic0, topic| hint(self.vat, topic0, alias(topic, urn.into_word()));
        let given = hint(self.manager, GIVE, alias(2, id));
        [of_urn(FROB, 2), of_urn(GRAB, 2), of_urn(FORK, 2), of_urn(FORK, 3), given]
    }

    /// The calls for the urn of a vault and its kind of collateral.
    fn of_number(&self, id: B256) -> [Call; 2] {
        let cdp = U256::from_be_bytes(id.0);
        [Call::new(self.manager, &urnsCall { cdp }), Call::new(self.manager, &ilksCall { cdp })]
    }
}

fn hint(contract: impl Into<Emitter>, topic0: B256, naming: Naming) -> Hint {
    Hint { contract: contract.into(), topic0, naming, explained_by: &[] }
}

/// The vault with this number, read from the answers to the calls for it.
fn numbered(id: B256, answers: &[Option<Bytes>]) -> Option<VaultRow> {
    Some((id, returned::<urnsCall>(answers.first())?, returned::<ilksCall>(answers.get(1))?))
}

impl LendingTerms for MakerTerms {
    /// The position of a wallet without any vault.
    fn held(&self, _: &[Option<Bytes>], _: Option<f64>) -> Option<Held> {
        Some(Held::default())
    }

    fn balances(&self, _: &[Option<Bytes>]) -> Option<Vec<Balance>> {
        Some(Vec::new())
    }

    /// The urns of the wallet itself, in each kind of collateral. A wallet keeps its empty vaults, which are listed.
    fn traces(&self, wallet: Address) -> Vec<Call> {
        let ilks = self.ilks.iter().flat_map(|ilks| ilks.iter());
        ilks.map(|ilk| self.contracts.urn(*ilk, wallet)).collect()
    }

    fn touched(&self, answers: &[Option<Bytes>], _: Address) -> Vec<(Side, Asset)> {
        let ilks = self.ilks.iter().flat_map(|ilks| ilks.iter());
        ilks.zip(urns_of(answers)).flat_map(|(ilk, urn)| urn.into_iter().flat_map(|urn| urn.sides(*ilk))).collect()
    }

    fn lacks_parts(&self, answers: &[Option<Bytes>]) -> bool {
        let read = urns_of(answers).flatten().count();
        self.ilks.as_ref().is_none_or(|ilks| ilks.len() != read)
    }

    /// The logs in which a wallet receives a vault or a proxy, gives a vault away, or uses a proxy; and in which a
    /// vault changes its owner.
    fn hints(&self) -> Vec<Hint> {
        let Contracts { manager, vat, end, .. } = self.contracts;
        let at = |topic0, topic| hint(manager, topic0, Naming::At(topic));
        let of_proxy = |topic0| hint(Emitter::Any, topic0, Naming::Emitter(1));
        let mut hints = vec![
            at(NEW_VAULT, 2),
            at(GIVE, 3),
            at(GIVE, 2),
            at(GIVE, 1),
            of_proxy(NEW_OWNER),
            hint(vat, GRAB, Naming::Never { topic: 3, word: end.into_word() }),
        ];
        hints.extend(EXECUTED.map(of_proxy));
        hints
    }

    fn aliases<'a>(
        &'a self,
        client: &'a Client,
        wallet: Address,
        known: &'a BTreeSet<B256>,
        at: Block,
    ) -> Option<FoundAliases<'a>> {
        Some(self.contracts.names(client, wallet, known, at).boxed())
    }

    fn parts<'a>(&'a self, client: &'a Client, wallet: Address, used: Used<'_>, at: Block) -> Option<FoundParts<'a>> {
        let asked = Holdings::asked(wallet, used, self.ilks.as_deref().unwrap_or_default());
        let read = async move {
            let held = Holdings::look_up(client, self.contracts, asked, at).await?;
            Ok(held.map(|held| Box::new(held) as Box<dyn Parts>))
        };
        Some(read.boxed())
    }
}
