//! From an address to an answer: what the chains say, through features, into the champion.

mod boost;
mod error;
mod identity;
mod report;
mod roles;
mod sandbox;
mod score;
mod several;
mod standing;
mod summary;

use std::{sync::Arc, time::Duration};

use crate::{
    chain::Chains,
    config,
    domain::{Freshness, Snapshot},
    registry::Registry,
    store::Store,
};

pub use error::ScoringError;
pub use identity::IdentityReport;
pub use report::{ChainReport, Report};
pub use roles::{MoveError, remembered};
pub use sandbox::{Sandbox, SandboxScore};
pub use score::Scored;
pub use several::MeanScore;
pub use standing::{IDENTITY_SCHEME, Standing, StandingError};
pub use summary::{Aggregate, Summarized};

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
    lives: Lives,
    keeper: roles::Keeper,
}

/// How long a reading stands.
#[derive(Clone, Copy)]
struct Lives {
    complete: Duration,
    incomplete: Duration,
}

impl Scoring {
    pub fn new(registry: Arc<Registry>, chains: Chains, store: Store, settings: &config::Scoring) -> Self {
        let (scores, keeper) = (score::cache(settings), roles::Keeper::default());
        let lives =
            Lives { complete: Duration::from_millis(settings.cache_ms), incomplete: Duration::from_millis(settings.incomplete_cache_ms) };
        Self { inner: Arc::new(Inner { registry, chains, store, scores, lives, keeper }) }
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

    fn freshness(&self, snapshot: &Snapshot) -> Freshness {
        let Lives { complete, incomplete } = self.inner.lives;
        let life = if snapshot.is_whole() { complete } else { incomplete };
        Freshness { read_at: snapshot.as_of, life }
    }
}
