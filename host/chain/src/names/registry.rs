//! One ENS registry on one chain: the resolver of a name, and its answers. Anyone can deploy a resolver; it is believed
//! only about its own names. Where ENS's Universal Resolver has code, it is asked instead for the address of a name.

use std::{sync::Arc, time::Duration};

use alloy::{
    ens::{namehash, try_dns_encode},
    primitives::{Bytes, FixedBytes},
    sol,
    sol_types::{SolCall, SolValue},
};
use moka::future::Cache;

use super::{
    NameSource, Unanswered,
    offchain::{self, LookupOutcome},
    universal::{Universal, addrCall},
};
use crate::{config::RegistryConfig, limits};
use assay_domain::{Address, Name};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    guarded::Guarded,
};

sol! {
    function resolver(bytes32 node) external view returns (address resolver);
    function supportsInterface(bytes4 id) external view returns (bool supported);
    function name(bytes32 node) external view returns (string name);
    function resolve(bytes name, bytes data) external view returns (bytes answer);
}

/// How long the features of a resolver are cached: they change only behind a proxy.
const CACHE_LIFETIME: Duration = Duration::from_secs(3600);
const CACHE_ENTRIES: u64 = 10_000;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct NameRegistry {
    pub config: Arc<RegistryConfig>,
    pub client: Client,
    guarded: Guarded,
    universal: Option<Universal>,
    /// Whether a resolver answers for subdomains of its name (ENSIP-10).
    wildcards: Cache<Address, bool>,
}

/// The resolver of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolver {
    address: Address,
    /// It is set for the name itself and not for a parent.
    own: bool,
}

impl NameRegistry {
    pub(super) fn new(config: &RegistryConfig, client: Client, guarded: Guarded) -> Self {
        let wildcards = Cache::builder().max_capacity(CACHE_ENTRIES).time_to_live(CACHE_LIFETIME).build();
        let universal = config.universal().map(|address| Universal::new(address, client.clone(), guarded.clone()));
        Self { config: Arc::new(config.clone()), client, guarded, universal, wildcards }
    }

    /// The contract that resolved the last name; `None` before the first one.
    pub(super) fn source(&self) -> Option<NameSource> {
        match &self.universal {
            None => Some(NameSource::Registry),
            Some(universal) => universal
                .is_present()
                .map(|present| if present { NameSource::UniversalResolver } else { NameSource::Registry }),
        }
    }

    /// Whether `name` is in this registry's domain.
    pub(super) fn covers(&self, name: &Name) -> bool {
        self.config.under.as_deref().is_none_or(|under| name.is_under(under))
    }

    /// The reverse name of `wallet`.
    pub(crate) fn reverse(&self, wallet: Address) -> String {
        format!("{}.{}", hex::encode(wallet), self.config.reverse)
    }

    /// The calls that find the resolver of `name`: its own, or that of the nearest parent.
    pub(crate) fn calls(&self, name: &str) -> Vec<Call> {
        let names = std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, above)| above));
        let call = |name| Call::new(self.config.registry, &resolverCall { node: namehash(name) });
        names.take(limits::LABELS).map(call).collect()
    }

    /// Reads the answers to [`calls`](Self::calls); `None` if there is no registry.
    pub(crate) fn found(answers: &[Option<Bytes>]) -> Option<Option<Resolver>> {
        let resolvers: Option<Vec<Address>> =
            (0..answers.len()).map(|at| returned::<resolverCall>(answers.get(at))).collect();
        let nearest = resolvers?.into_iter().enumerate().find(|(_, address)| *address != Address::ZERO);
        Some(nearest.map(|(above, address)| Resolver { address, own: above == 0 }))
    }

    /// The address of `name`; the outer `None` if there is no registry, the inner if the name has no address.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(super) async fn address(&self, name: &Name) -> Result<Option<Option<Address>>, Unanswered> {
        if let Some(universal) = &self.universal
            && let Some(found) = universal.address(name).await?
        {
            return Ok(Some(found));
        }
        // Side by side: a registry that changes in the same moment is read as of either block.
        let calls = self.calls(name.as_str());
        let (head, answers) = tokio::try_join!(self.client.head(), self.client.latest_calls(&calls))?;
        let Some(resolver) = Self::found(&answers) else { return Ok(None) };
        let Some(resolver) = resolver else { return Ok(Some(None)) };
        let call = addrCall { node: namehash(name.as_str()) };
        let answer = self.ask(resolver, name.as_str(), &call, head).await?;
        Ok(Some(answer.filter(|address| *address != Address::ZERO)))
    }

    /// The name that the owner of `wallet` gives it, unchecked.
    ///
    /// # Errors
    /// [`Unanswered`].
    pub(crate) async fn reverse_name(
        &self,
        resolver: Resolver,
        wallet: Address,
        head: Block,
    ) -> Result<Option<String>, Unanswered> {
        let name = self.reverse(wallet);
        let call = nameCall { node: namehash(&name) };
        Ok(self.ask(resolver, &name, &call, head).await?.filter(|name| !name.is_empty()))
    }

    /// Asks a resolver; `None` if it has no answer, or one of another type.
    async fn ask<C: SolCall>(
        &self,
        resolver: Resolver,
        name: &str,
        call: &C,
        head: Block,
    ) -> Result<Option<C::Return>, Unanswered> {
        let Resolver { address, own } = resolver;
        let wildcard = self.is_wildcard(address, head).await?;
        if !own && !wildcard {
            return Ok(None);
        }
        let mut data = call.abi_encode();
        if wildcard {
            let Ok(wire) = try_dns_encode(name) else { return Ok(None) };
            data = resolveCall { name: wire.into(), data: data.into() }.abi_encode();
        }
        let answer = match offchain::call(&self.client, &self.guarded, address, data, head).await? {
            LookupOutcome::Returned(answer) => answer,
            // It could be a lookup without its data.
            LookupOutcome::Reverted(data) if wildcard && data.is_empty() => {
                return Err(Unanswered("a resolver reverted, and no endpoint gives the data of the revert".into()));
            }
            LookupOutcome::Reverted(_) | LookupOutcome::Refused => return Ok(None),
        };
        let answer = if wildcard { Bytes::abi_decode(&answer).ok() } else { Some(answer) };
        Ok(answer.and_then(|answer| C::abi_decode_returns(&answer).ok()))
    }

    async fn is_wildcard(&self, resolver: Address, head: Block) -> Result<bool, Unanswered> {
        if let Some(known) = self.wildcards.get(&resolver).await {
            return Ok(known);
        }
        let call = supportsInterfaceCall { id: FixedBytes(resolveCall::SELECTOR) };
        let answer = self.client.stranger_attempt(resolver, &call.abi_encode().into(), head.hash).await?;
        let wildcard =
            answer.is_ok_and(|answer| supportsInterfaceCall::abi_decode_returns_validate(&answer).unwrap_or(false));
        self.wildcards.insert(resolver, wildcard).await;
        Ok(wildcard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_resolver_is_asked() {
        let word = |last: u8| Some(Bytes::from(Address::with_last_byte(last).abi_encode()));
        let found = |address, own| Some(Some(Resolver { address: Address::with_last_byte(address), own }));
        assert_eq!(NameRegistry::found(&[word(7), word(8)]), found(7, true));
        assert_eq!(NameRegistry::found(&[word(0), word(8)]), found(8, false));
        assert_eq!(NameRegistry::found(&[word(0), word(0)]), Some(None));
        assert_eq!(NameRegistry::found(&[Some(Bytes::new()), Some(Bytes::new())]), None);
    }

    #[test]
    fn the_interface_is_that_of_the_standard() {
        assert_eq!(resolveCall::SELECTOR, [0x90, 0x61, 0xb9, 0x23]);
    }
}
