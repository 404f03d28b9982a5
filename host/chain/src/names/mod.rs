//! Resolution of names to addresses. A name is looked up in the configured registry with the narrowest domain that
//! covers it. An answer, also that a name has no address, is cached; a failure is neither cached nor taken for an
//! answer.

mod offchain;
mod registry;
mod universal;

use std::sync::Arc;

use moka::future::Cache;

use crate::{config, lifetime::ByCompleteness, limits};
use assay_domain::{Address, ChainId, Lifetimes, Name};
use assay_evm::{client::Client, fault::Fault, guarded::Guarded};

pub(super) use registry::NameRegistry;

/// Why a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The registry has no address for it.
    #[error("The name does not resolve to an address")]
    NotResolved,
    /// No chain with a registry for it is configured.
    #[error(
        "Names cannot be resolved on this server: no chain with their registry is configured (1 for ENS); its operator \
         can add it"
    )]
    NotConfigured,
    /// It is unknown: a chain or a gateway did not answer.
    #[error("The name could not be resolved: a chain or a gateway did not answer; try again later")]
    Unreadable,
}

/// The contract that resolves the names of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSource {
    UniversalResolver,
    /// A registry, which for ENS is the old one: it does not know names that moved to ENSv2.
    Registry,
}

impl NameSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UniversalResolver => "universal_resolver",
            Self::Registry => "registry",
        }
    }
}

/// A chain or a gateway did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Unanswered(String);

impl From<Fault> for Unanswered {
    fn from(fault: Fault) -> Self {
        Self(fault.to_string())
    }
}

/// All registries. Cheap to clone.
#[derive(Clone)]
pub(super) struct NameResolvers {
    /// Those with the narrowest domain first.
    registries: Arc<[NameRegistry]>,
    cache: Cache<Name, Option<Address>>,
}

impl NameResolvers {
    pub(super) fn new(settings: &config::Names, guarded: &Guarded, client: impl Fn(ChainId) -> Option<Client>) -> Self {
        let on_chain =
            |config: &config::RegistryConfig| Some(NameRegistry::new(config, client(config.chain)?, guarded.clone()));
        let mut registries: Vec<NameRegistry> = settings.registries.iter().filter_map(on_chain).collect();
        registries.sort_by_key(|registry| std::cmp::Reverse(registry.config.under.as_ref().map_or(0, String::len)));
        let (complete, incomplete) = (settings.cache_ttl, settings.negative_cache_ttl);
        let expiry = ByCompleteness { lifetimes: Lifetimes { complete, incomplete }, is_complete: Option::is_some };
        let cache = Cache::builder().max_capacity(settings.cache_entries).expire_after(expiry).build();
        Self { registries: registries.into(), cache }
    }

    /// The registries of `chain`.
    pub(super) fn on(&self, chain: ChainId) -> impl Iterator<Item = &NameRegistry> {
        self.registries.iter().filter(move |registry| registry.config.chain == chain)
    }

    /// The contract that resolves names on `chain`; `None` without one, and before the first name.
    pub(super) fn source(&self, chain: ChainId) -> Option<NameSource> {
        self.on(chain).find_map(NameRegistry::source)
    }

    /// The address of `name`. Concurrent callers share a request.
    ///
    /// # Errors
    /// [`NameError`].
    pub(super) async fn resolve(&self, name: &Name) -> Result<Address, NameError> {
        let found = self.cache.try_get_with_by_ref(name, self.look_up(name)).await;
        found.map_err(|error| NameError::clone(&error))?.ok_or(NameError::NotResolved)
    }

    /// Whether [`resolve`](Self::resolve) answers without a request.
    pub(super) fn is_cached(&self, name: &Name) -> bool {
        self.cache.contains_key(name)
    }

    async fn look_up(&self, name: &Name) -> Result<Option<Address>, NameError> {
        let look = async {
            let mut answer = Err(NameError::NotConfigured);
            for registry in self.registries.iter().filter(|registry| registry.covers(name)) {
                match registry.address(name).await {
                    Ok(Some(found)) => return Ok(found),
                    // A chain without that registry, such as a local one: the next registry is asked.
                    Ok(None) => answer = Ok(None),
                    Err(why) => {
                        tracing::warn!(chain = registry.config.chain, %why, "a name cannot be resolved");
                        return Err(NameError::Unreadable);
                    }
                }
            }
            answer
        };
        tokio::time::timeout(limits::NAME, look).await.unwrap_or(Err(NameError::Unreadable))
    }
}
