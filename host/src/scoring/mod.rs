//! From an address to an answer: what the chains say, through features, into the champion.

mod boost;
mod error;
mod report;
mod roles;
mod sandbox;
mod score;

use std::sync::Arc;

use crate::{chain::Chains, config, registry::Registry, store::Store};

pub use error::ScoringError;
pub use report::Report;
pub use roles::{MoveError, remembered};
pub use sandbox::{Sandbox, SandboxScore};
pub use score::Scored;

/// The scoring service. Cheap to clone.
#[derive(Clone)]
pub struct Scoring {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Arc<Registry>,
    chains: Chains,
    store: Store,
    scores: score::Cache,
    keeper: roles::Keeper,
}

impl Scoring {
    pub fn new(registry: Arc<Registry>, chains: Chains, store: Store, settings: &config::Scoring) -> Self {
        let (scores, keeper) = (score::cache(settings), roles::Keeper::default());
        Self { inner: Arc::new(Inner { registry, chains, store, scores, keeper }) }
    }

    /// Mock answers from the sandbox champion.
    pub fn sandbox(&self) -> Sandbox {
        Sandbox::new(self.inner.registry.lineup())
    }

    /// The models behind the answers.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Why records cannot be written, where the last write failed.
    pub fn store_fault(&self) -> Option<String> {
        self.inner.store.is_failing().then(|| "the store cannot be written: check the disk and its space, then restart".to_owned())
    }

    /// The chains behind the answers.
    pub fn chains(&self) -> &Chains {
        &self.inner.chains
    }
}
