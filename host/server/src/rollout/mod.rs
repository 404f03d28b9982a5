//! Which model answers, and what is known of those that might: roles and how they change, the audit log, challengers in
//! the shadow, and the records by which a served score is computed again.
//!
//! `scoring` hands every score that it computes to this module, which knows nothing of chains.

mod audit;
mod fleet;
mod promotion;
mod provenance;
pub mod records;
mod returns;
mod roles;
mod scored;
mod shadow;

use std::{sync::Arc, time::Duration};

use crate::{config, tasks::Spawner};
use assay_registry::Registry;
use assay_store::{Store, StoreError};

pub use audit::{AuditEntry, Move};
pub use fleet::StageError;
pub use promotion::Figures;
pub use provenance::{Inputs, ReplayError, Replayed, ScoreId, Slot, replay, served};
pub use roles::{MoveError, remembered};
pub use scored::Scored;
pub use shadow::{Spread, Standing};

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Rollout {
    inner: Arc<Inner>,
}

struct Inner {
    registry: Arc<Registry>,
    store: Store,
    keeper: roles::Keeper,
    provenance: provenance::Provenance,
    promotion: config::Promotion,
    shadow: shadow::Shadow,
    shadow_life: Duration,
}

impl Rollout {
    /// Takes up what the store remembers, and closes the steps that a crash left open.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(
        registry: Arc<Registry>,
        store: Store,
        settings: &config::Scoring,
        promotion: &config::Promotion,
    ) -> Result<Self, StoreError> {
        let written = roles::Written::read(&store).await?;
        audit::complete(&store, &registry, &written.roles).await?;
        let keeper = roles::Keeper::new(written);
        let provenance = provenance::Provenance::open(&store, settings).await?;
        let (promotion, shadow_life) =
            (promotion.clone(), Duration::from_secs(settings.shadow_hours.saturating_mul(3_600)));
        let shadow = shadow::Shadow::start(&registry, settings)
            .map_err(|error| StoreError::Failed { reason: error.to_string() })?;
        let inner = Inner { registry, store, keeper, provenance, promotion, shadow, shadow_life };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Starts everything that goes on in the background.
    pub fn start(&self, tasks: &Spawner) {
        self.keep_roles(tasks);
        self.follow_fleet(tasks);
        self.keep_scores(tasks);
        self.keep_shadow(tasks);
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
}
