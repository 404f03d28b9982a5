//! One ENS registry on one chain: which resolver knows a name, and what it says of it. A resolver is anybody's contract
//! and is believed in what it says of its own names alone.

use std::{sync::Arc, time::Duration};

use alloy::{
    primitives::{Bytes, FixedBytes},
    sol,
    sol_types::{SolCall, SolValue},
};
use moka::future::Cache;

use super::{Unanswered, elsewhere, node};
use crate::config::RegistryConfig;
use assay_domain::{Address, Name};
use assay_evm::{
    call::{Call, returned},
    client::{Block, Client},
    guarded::Guarded,
};

sol! {
    function resolver(bytes32 node) external view returns (address resolver);
    function supportsInterface(bytes4 id) external view returns (bool supported);
    function addr(bytes32 node) external view returns (address owner);
    function name(bytes32 node) external view returns (string name);
    function resolve(bytes name, bytes data) external view returns (bytes answer);
}

/// Labels of a name looked for a resolver above it: each is a call, and nobody has a name of more.
const LABELS: usize = 16;
/// Resolvers do not change what they can do, but for those behind a proxy.
const REMEMBERED: Duration = Duration::from_secs(3600);
const RESOLVERS: u64 = 10_000;

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct Registry {
    pub config: Arc<RegistryConfig>,
    pub client: Client,
    guarded: Guarded,
    /// Whether a resolver answers for names below its own (ENSIP-10).
    wildcards: Cache<Address, bool>,
}

/// Which resolver is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Resolver {
    address: Address,
    /// It is that of the name itself and not of one above.
    own: bool,
}

impl Registry {
    pub(super) fn new(config: &RegistryConfig, client: Client, guarded: Guarded) -> Self {
        let wildcards = Cache::builder().max_capacity(RESOLVERS).time_to_live(REMEMBERED).build();
        Self { config: Arc::new(config.clone()), client, guarded, wildcards }
    }

    /// Whether names like `name` are looked up here.
    pub(super) fn covers(&self, name: &Name) -> bool {
        self.config.under.as_deref().is_none_or(|under| name.is_under(under))
    }

    /// The name that is `wallet`'s to set here.
    pub(crate) fn reverse(&self, wallet: Address) -> String {
        node::reverse(wallet, &self.config.reverse)
    }

    /// The calls that tell which resolver knows `name`: its own, or the nearest above it.
    pub(crate) fn calls(&self, name: &str) -> Vec<Call> {
        let names = node::upwards(name).take(LABELS);
        names.map(|name| Call::new(self.config.registry, &resolverCall { node: node::namehash(name) })).collect()
    }

    /// What the answers to [`calls`](Self::calls) say; `None` where there is no registry.
    pub(crate) fn found(answers: &[Option<Bytes>]) -> Option<Option<Resolver>> {
        let resolvers: Option<Vec<Address>> =
            (0..answers.len()).map(|at| returned::<resolverCall>(answers.get(at))).collect();
        let nearest = resolvers?.into_iter().enumerate().find(|(_, address)| *address != Address::ZERO);
        Some(nearest.map(|(above, address)| Resolver { address, own: above == 0 }))
    }

    /// The address of `name`; the outer `None` where there is no registry, the inner where it has none.
    ///
    /// # Errors
    /// [`Unanswered`] where that cannot be told.
    pub(super) async fn address(&self, name: &Name) -> Result<Option<Option<Address>>, Unanswered> {
        let head = self.client.head().await?;
        let answers = self.client.calls(&self.calls(name.as_str()), head.hash).await?;
        let Some(resolver) = Self::found(&answers) else { return Ok(None) };
        let Some(resolver) = resolver else { return Ok(Some(None)) };
        let call = addrCall { node: node::namehash(name.as_str()) };
        let answer = self.ask(resolver, name.as_str(), &call, head).await?;
        Ok(Some(answer.filter(|address| *address != Address::ZERO)))
    }

    /// What the owner of `wallet` calls it, as it was written.
    ///
    /// # Errors
    /// [`Unanswered`] where that cannot be told.
    pub(crate) async fn named(
        &self,
        resolver: Resolver,
        wallet: Address,
        head: Block,
    ) -> Result<Option<String>, Unanswered> {
        let name = self.reverse(wallet);
        let call = nameCall { node: node::namehash(&name) };
        Ok(self.ask(resolver, &name, &call, head).await?.filter(|name| !name.is_empty()))
    }

    /// `None` where the resolver has no answer, or one that is no answer to this.
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
        if !wildcard {
            let answer = elsewhere::call(&self.client, &self.guarded, address, call.abi_encode().into(), head).await?;
            return Ok(answer.and_then(|answer| C::abi_decode_returns(&answer).ok()));
        }
        let Some(wire) = node::dns_encoded(name) else { return Ok(None) };
        let wrapped = resolveCall { name: wire.into(), data: call.abi_encode().into() };
        let answer = elsewhere::call(&self.client, &self.guarded, address, wrapped.abi_encode().into(), head).await?;
        let inner = answer.and_then(|answer| Bytes::abi_decode(&answer).ok());
        Ok(inner.and_then(|inner| C::abi_decode_returns(&inner).ok()))
    }

    async fn is_wildcard(&self, resolver: Address, head: Block) -> Result<bool, Unanswered> {
        if let Some(known) = self.wildcards.get(&resolver).await {
            return Ok(known);
        }
        let call = supportsInterfaceCall { id: FixedBytes(resolveCall::SELECTOR) };
        let answer = self.client.attempt(resolver, &call.abi_encode().into(), head.hash).await?;
        let wildcard = answer.is_ok_and(|answer| supportsInterfaceCall::abi_decode_returns(&answer).unwrap_or(false));
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
        assert_eq!(Registry::found(&[word(7), word(8)]), found(7, true));
        assert_eq!(Registry::found(&[word(0), word(8)]), found(8, false));
        assert_eq!(Registry::found(&[word(0), word(0)]), Some(None));
        assert_eq!(Registry::found(&[Some(Bytes::new()), Some(Bytes::new())]), None);
    }

    #[test]
    fn the_interface_is_that_of_the_standard() {
        assert_eq!(resolveCall::SELECTOR, [0x90, 0x61, 0xb9, 0x23]);
    }
}
