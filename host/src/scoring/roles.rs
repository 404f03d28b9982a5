//! Roles of models, written down before they are moved, so that a restart answers with the same champion.

use tokio::sync::Mutex;

use super::Scoring;
use crate::{
    domain::{ModelKind, ModelVersion},
    registry::{KindRoles, Registry, RoleError, Roles},
    store::{
        Store, StoreError, keys,
        records::{ModelPin, RolesRecord},
    },
    tasks::Spawner,
};

/// A role that was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error("the role could not be written down, so it was not moved: {0}")]
    Store(#[from] StoreError),
}

/// The one who writes roles down: what the store holds now, behind a lock so that two moves never interleave.
#[derive(Default)]
pub(super) struct Keeper {
    written: Mutex<Roles>,
}

/// The roles that were in force when they were last written down.
///
/// # Errors
/// The store's failure.
pub async fn remembered(store: &Store) -> Result<Roles, StoreError> {
    let mut roles = Roles::default();
    for kind in ModelKind::ALL {
        if let Some(record) = store.get(&keys::roles(kind)).await? {
            let versions = |pins: Vec<ModelPin>| pins.into_iter().map(|pin| pin.version).collect();
            let champion = record.champion.map(|pin| pin.version);
            roles.set(kind, KindRoles { champion, previous: versions(record.previous), challengers: versions(record.challengers) });
        }
    }
    Ok(roles)
}

impl Scoring {
    /// Makes a loaded version the one that answers.
    ///
    /// # Errors
    /// [`MoveError`]; the role is then where it was.
    pub async fn set_champion(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut written = self.inner.keeper.written.lock().await;
        if registry.version(kind, version).is_some() {
            let mut roles = registry.roles();
            roles.promote(kind, version);
            write(&self.inner.store, registry, &roles, &mut written).await?;
        }
        // Says what is loaded where this version is not.
        Ok(registry.set_champion(kind, version)?)
    }

    /// Makes loaded versions score in the shadow, instead of those before.
    ///
    /// # Errors
    /// [`MoveError`]. A challenger never changes an answer, so it may be in its role before that is written down.
    pub async fn set_challengers(&self, kind: ModelKind, versions: &[ModelVersion]) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut written = self.inner.keeper.written.lock().await;
        registry.set_challengers(kind, versions)?;
        Ok(write(&self.inner.store, registry, &registry.roles(), &mut written).await?)
    }

    /// Writes down the role changes that nobody asked for: the first champion of a kind, and an automatic return.
    pub fn keep_roles(&self, tasks: &Spawner) {
        let scoring = self.clone();
        let mut changes = self.inner.registry.watch_roles();
        let stopping = tasks.stopping();
        tasks.spawn("roles", async move {
            loop {
                let mut written = scoring.inner.keeper.written.lock().await;
                let roles = changes.borrow_and_update().clone();
                if let Err(error) = write(&scoring.inner.store, &scoring.inner.registry, &roles, &mut written).await {
                    tracing::error!(%error, "roles of models are not written down; a restart would go back to the earlier ones");
                }
                drop(written);
                tokio::select! {
                    changed = changes.changed() => if changed.is_err() { return },
                    () = stopping.cancelled() => return,
                }
            }
        });
    }
}

async fn write(store: &Store, registry: &Registry, roles: &Roles, written: &mut Roles) -> Result<(), StoreError> {
    for kind in ModelKind::ALL {
        let now = roles.of(kind);
        if now != written.of(kind) {
            store.put(&keys::roles(kind), &pinned(registry, kind, &now)).await?;
            written.set(kind, now);
        }
    }
    Ok(())
}

/// Versions with the digests of the bytes that are loaded under them. A version that is not loaded has none, and no role to keep.
fn pinned(registry: &Registry, kind: ModelKind, roles: &KindRoles) -> RolesRecord {
    let pin = |version: &ModelVersion| Some(ModelPin { version: version.clone(), digest: registry.version(kind, version)?.digest() });
    RolesRecord {
        champion: roles.champion.as_ref().and_then(pin),
        previous: roles.previous.iter().filter_map(pin).collect(),
        challengers: roles.challengers.iter().filter_map(pin).collect(),
    }
}
