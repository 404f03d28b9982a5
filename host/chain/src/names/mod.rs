//! What names stand for. A name is looked up in the registry with the narrowest claim to it whose chain is configured,
//! or else in the general one, and its answer is kept for a while; that it could not be asked is never kept and never
//! taken for an answer.

mod elsewhere;
mod node;
mod registry;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use moka::{Expiry, future::Cache};

use crate::config;
use assay_domain::{Address, ChainId, Name};
use assay_evm::{client::Client, fault::Fault, guarded::Guarded};

pub(super) use registry::Registry;

/// Longest time for a name: a request has more, and has an address to read after it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a name has no address here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// It stands for no address.
    #[error("The name does not resolve to an address")]
    NotResolved,
    /// No chain with a registry for it is configured.
    #[error(
        "Names cannot be resolved on this server: no chain with their registry is configured (1 for ENS); its operator can add it"
    )]
    NotConfigured,
    /// Whether it does cannot be told: a chain or a gateway did not answer.
    #[error("The name could not be resolved: a chain or a gateway did not answer; try again later")]
    Unreadable,
}

/// Something did not answer.
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
pub(super) struct Names {
    /// Those with the narrowest claim first.
    registries: Arc<[Registry]>,
    kept: Cache<Name, Option<Address>>,
}

struct Lives {
    positive: Duration,
    negative: Duration,
}

impl Expiry<Name, Option<Address>> for Lives {
    fn expire_after_create(&self, _: &Name, found: &Option<Address>, _: Instant) -> Option<Duration> {
        Some(if found.is_some() { self.positive } else { self.negative })
    }
}

impl Names {
    pub(super) fn new(settings: &config::Names, guarded: &Guarded, client: impl Fn(ChainId) -> Option<Client>) -> Self {
        let on_chain =
            |config: &config::RegistryConfig| Some(Registry::new(config, client(config.chain)?, guarded.clone()));
        let mut registries: Vec<Registry> = settings.registries.iter().filter_map(on_chain).collect();
        registries.sort_by_key(|registry| std::cmp::Reverse(registry.config.under.as_ref().map_or(0, String::len)));
        let (positive, negative) = (settings.cache_ttl, settings.negative_cache_ttl);
        let kept =
            Cache::builder().max_capacity(settings.cache_entries).expire_after(Lives { positive, negative }).build();
        Self { registries: registries.into(), kept }
    }

    /// The registries of `chain`.
    pub(super) fn on(&self, chain: ChainId) -> impl Iterator<Item = &Registry> {
        self.registries.iter().filter(move |registry| registry.config.chain == chain)
    }

    /// The address that `name` stands for, asked once however many want to know.
    ///
    /// # Errors
    /// [`NameError`].
    pub(super) async fn resolve(&self, name: &Name) -> Result<Address, NameError> {
        let found = self.kept.try_get_with_by_ref(name, self.look_up(name)).await;
        found.map_err(|error| NameError::clone(&error))?.ok_or(NameError::NotResolved)
    }

    async fn look_up(&self, name: &Name) -> Result<Option<Address>, NameError> {
        let look = async {
            let mut answer = Err(NameError::NotConfigured);
            for registry in self.registries.iter().filter(|registry| registry.covers(name)) {
                match registry.address(name).await {
                    Ok(Some(found)) => return Ok(found),
                    // A chain without that registry, such as a local one. The next may know.
                    Ok(None) => answer = Ok(None),
                    Err(why) => {
                        tracing::warn!(chain = registry.config.chain, %why, "a name cannot be resolved");
                        return Err(NameError::Unreadable);
                    }
                }
            }
            answer
        };
        tokio::time::timeout(PATIENCE, look).await.unwrap_or(Err(NameError::Unreadable))
    }
}
