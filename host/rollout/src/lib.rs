//! Which model answers, and the evidence about the others: roles and their changes, the audit log, challengers in the
//! shadow, the records by which a served score is recomputed, cards and their claims, the outcomes of the scored
//! wallets, and the drift of what models read of them.
//!
//! `score` hands every score that it computes to [`Rollout`], which reads no chain.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod audit;
mod automatic;
pub mod bodies;
pub mod cards;
pub mod config;
mod drift;
mod error;
mod fleet;
mod observed;
pub mod outcomes;
mod promotion;
mod provenance;
mod recent;
mod recorded;
pub mod records;
mod replayed;
pub mod responses;
mod roles;
mod routes;
mod scored;
mod shadow;
mod shelf;
mod split;
#[cfg(test)]
mod tests;

use std::{sync::Arc, time::Duration};

use tokio::sync::Mutex;

use assay_registry::Registry;
use assay_store::{Store, StoreError};
use assay_tasks::Spawner;

pub use audit::{AuditEntry, RoleMove};
pub use drift::{Against, Drift, DriftWeek, InputDrift, InputShift, ModelDrift};
pub use error::{needs_large, refused_score, refused_version};
pub use fleet::StageError;
pub use observed::{Observation, Observations, WEEK};
pub use promotion::{Bound, Review};
pub use provenance::{Inputs, RecordSlot, ReplayError, Replayed, ScoreId, replay, served};
pub use recorded::RecordedRoles;
pub use roles::MoveError;
pub use routes::{RolloutRoutes, operations, routes};
pub use scored::{Basis, Scored};
pub use shadow::{ShadowEvidence, ShadowPair, Spread};
pub use split::WantedSplit;

/// The service. Cheap to clone.
#[derive(Clone)]
pub struct Rollout {
    inner: Arc<RolloutState>,
}

struct RolloutState {
    registry: Arc<Registry>,
    store: Store,
    /// Locked during every change of a role or the shelf.
    recorded: Mutex<RecordedRoles>,
    provenance: provenance::Provenance,
    promotion: config::Promotion,
    shadow: shadow::Shadow,
    observed: Arc<observed::Observed>,
    recent: Arc<recent::Recent>,
    inputs: drift::SeenInputs,
    shadow_lifetime: Duration,
}

impl Rollout {
    /// Starts with the roles that `registry` was opened with, adopts what other hosts have stored since, and closes the
    /// steps of the audit log that a crash left open.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(
        registry: Arc<Registry>,
        store: Store,
        opened: RecordedRoles,
        settings: &config::Scoring,
        promotion: &config::Promotion,
    ) -> Result<Self, StoreError> {
        let provenance = provenance::Provenance::open(&store, settings).await?;
        let (promotion, shadow_lifetime) = (promotion.clone(), settings.shadow_ttl);
        let observed = Arc::new(observed::Observed::new(settings.outcome_ttl));
        let shadow = shadow::Shadow::start(&registry, settings, &observed)
            .map_err(|error| StoreError::Failed { reason: error.to_string() })?;
        let recorded = Mutex::new(opened);
        let (recent, inputs) = (Arc::default(), drift::SeenInputs::new(settings.outcome_ttl));
        let inner = RolloutState {
            registry,
            store,
            recorded,
            provenance,
            promotion,
            shadow,
            observed,
            recent,
            inputs,
            shadow_lifetime,
        };
        let rollout = Self { inner: Arc::new(inner) };
        let RolloutState { registry, store, recorded, .. } = &*rollout.inner;
        let mut recorded = recorded.lock().await;
        rollout.adopt(&mut recorded).await?;
        audit::complete(store, registry, &recorded.roles).await?;
        drop(recorded);
        Ok(rollout)
    }

    /// Starts the background tasks.
    pub fn start(&self, tasks: &Spawner) {
        self.record_automatic_changes(tasks);
        self.follow_fleet(tasks);
        self.record_scores(tasks);
        self.record_shadow(tasks);
        self.tend_splits(tasks);
    }

    /// The limits of a promotion.
    pub fn promotion(&self) -> &config::Promotion {
        &self.inner.promotion
    }

    /// The loaded models.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// Why records cannot be written; `None` if they can.
    pub fn store_fault(&self) -> Option<String> {
        self.inner.store.fault()
    }
}
