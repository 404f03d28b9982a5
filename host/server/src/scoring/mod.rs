//! From an address to an answer: what the chains say, through features, into the champion.

mod appraisal;
mod ask;
mod audit;
mod boost;
mod compare;
mod error;
mod fleet;
mod identity;
mod promotion;
mod provenance;
mod report;
mod returns;
mod roles;
mod sandbox;
mod score;
mod several;
mod shadow;
mod summary;

use std::{sync::Arc, time::Duration};

use crate::{config, tasks::Spawner};
use assay_chain::Chains;
use assay_domain::{Freshness, Snapshot};
use assay_registry::Registry;
use assay_store::{Store, StoreError};

pub use appraisal::{Appraisal, AppraisalError, IDENTITY_SCHEME};
pub use ask::Ask;
pub use audit::{AuditEntry, Move};
pub use compare::{Compared, Comparison, Gap, MOST_VERSIONS, Why};
pub use error::ScoringError;
pub use fleet::StageError;
pub use identity::IdentityReport;
pub use promotion::Figures;
pub use provenance::{ReplayError, Replayed, ScoreId, replay, served};
pub use report::{ChainReport, Report};
pub use roles::{MoveError, remembered};
pub use sandbox::{Sandbox, SandboxScore};
pub use score::Scored;
pub use several::MeanScore;
pub use shadow::{Spread, Standing};
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
    provenance: provenance::Provenance,
    promotion: config::Promotion,
    shadow: shadow::Shadow,
    shadow_life: Duration,
}

/// How long a reading stands.
#[derive(Clone, Copy)]
struct Lives {
    complete: Duration,
    incomplete: Duration,
}

impl Scoring {
    /// Takes up what the store remembers, and closes the steps that a crash left open.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(
        registry: Arc<Registry>,
        chains: Chains,
        store: Store,
        settings: &config::Scoring,
        promotion: &config::Promotion,
    ) -> Result<Self, StoreError> {
        let written = roles::Written::read(&store).await?;
        audit::complete(&store, &registry, &written.roles).await?;
        let (scores, keeper) = (score::cache(settings), roles::Keeper::new(written));
        let lives = Lives { complete: settings.cache_ttl, incomplete: settings.incomplete_cache_ttl };
        let provenance = provenance::Provenance::open(&store, settings).await?;
        let (promotion, shadow_life) = (promotion.clone(), settings.shadow_ttl);
        let shadow = shadow::Shadow::start(&registry, settings)
            .map_err(|error| StoreError::Failed { reason: error.to_string() })?;
        let inner =
            Inner { registry, chains, store, scores, lives, keeper, provenance, promotion, shadow, shadow_life };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts everything that goes on in the background.
    pub fn start(&self, tasks: &Spawner) {
        self.keep_roles(tasks);
        self.follow_fleet(tasks);
        self.keep_scores(tasks);
        self.keep_shadow(tasks);
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
        let store = &self.inner.store;
        let said = if store.is_shared() {
            "the store cannot be reached; it is tried again until it can"
        } else {
            "the store cannot be written: check the disk and its space, then restart"
        };
        store.is_failing().then(|| said.to_owned())
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
