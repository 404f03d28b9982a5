//! Roles of models, written down before they are moved, so that a restart answers with the same champion; and every move, also one
//! that nobody asked for, in the audit log.

use tokio::sync::Mutex;

use super::{
    Scoring,
    audit::{self, Move},
    promotion::Figures,
    provenance::pin,
};
use crate::{
    domain::{ModelKind, ModelRef, ModelVersion},
    registry::{KindRoles, LoadError, Registry, RoleError, Roles},
    store::{
        Batch, Store, StoreError, keys,
        records::{AuditRecord, ModelPin, RolesRecord},
    },
};

/// A role that was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error("the role could not be written down, so it was not moved: {0}")]
    Store(#[from] StoreError),
    #[error("another host has closed this step; look at the roles and try again")]
    Contested,
    #[error("{kind} {version} was not promoted: {}. Give `force` and a `why` to promote it all the same", .figures.verdict())]
    Guarded { kind: ModelKind, version: ModelVersion, figures: Box<Figures> },
}

/// The one who writes roles down: what the store holds now, behind a lock so that two moves never interleave.
pub(super) struct Keeper {
    pub written: Mutex<Roles>,
}

impl Keeper {
    pub fn new(written: Roles) -> Self {
        Self { written: Mutex::new(written) }
    }
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
    /// Makes a loaded version the one that answers, where the bounds of promotion allow it.
    ///
    /// # Errors
    /// [`MoveError`]; the role is then where it was.
    pub async fn set_champion(&self, kind: ModelKind, version: &ModelVersion, with: Move) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut written = self.inner.keeper.written.lock().await;
        // Says what is loaded where this version is not.
        let model = registry.loaded(kind, version)?;
        let (mut roles, forced) = (registry.roles(), with.force);
        let step = AuditRecord {
            from: self.pins(kind, roles.champion(kind)),
            to: vec![pin(model.reference())],
            ..audit::step("promote", kind, with)
        };
        let figures = self.guard(kind, &model).await?;
        if !forced && !figures.allow() {
            self.inner.store.commit(audit::whole(Batch::new(), &step, audit::REFUSED, Some(figures.verdict()))?).await?;
            return Err(MoveError::Guarded { kind, version: version.clone(), figures: Box::new(figures) });
        }
        roles.promote(kind, version);
        self.make(&step, roles, &mut written, figures.said()).await?;
        Ok(registry.set_champion(kind, version)?)
    }

    /// Makes the champion before this one answer again.
    ///
    /// # Errors
    /// [`MoveError`]; the role is then where it was.
    pub async fn roll_back(&self, kind: ModelKind, with: Move) -> Result<ModelVersion, MoveError> {
        let registry = &self.inner.registry;
        let mut written = self.inner.keeper.written.lock().await;
        let version = registry.before(kind)?;
        let mut roles = registry.roles();
        let step = AuditRecord {
            from: self.pins(kind, roles.champion(kind)),
            to: self.pins(kind, Some(&version)),
            ..audit::step("rollback", kind, with)
        };
        roles.give_back(kind, &version);
        self.make(&step, roles, &mut written, None).await?;
        registry.give_back(kind, &version)?;
        Ok(version)
    }

    /// Makes loaded versions score in the shadow, instead of those before.
    ///
    /// # Errors
    /// [`MoveError`]; the roles are then where they were.
    pub async fn set_challengers(&self, kind: ModelKind, versions: &[ModelVersion], with: Move) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        let mut written = self.inner.keeper.written.lock().await;
        registry.may_challenge(kind, versions)?;
        let mut roles = registry.roles();
        let step = AuditRecord {
            from: self.pins(kind, roles.challengers(kind)),
            to: self.pins(kind, versions),
            ..audit::step("challenge", kind, with)
        };
        roles.set_challengers(kind, versions);
        self.make(&step, roles, &mut written, None).await?;
        Ok(registry.set_challengers(kind, versions)?)
    }

    /// Puts a component on the shelf.
    ///
    /// # Errors
    /// What is wrong with it. The log says only what was put there, and a component is there also where that could not be written.
    pub async fn stage(&self, bytes: Vec<u8>, with: Move) -> Result<ModelRef, LoadError> {
        let model = self.inner.registry.add(bytes).await?;
        let step = audit::staged(&model, with);
        let logged = async { self.inner.store.commit(audit::whole(Batch::new(), &step, audit::DONE, None)?).await };
        if let Err(error) = logged.await {
            tracing::error!(%error, kind = %model.kind, version = %model.version, "a model was put on the shelf, and the audit log does not say so");
        }
        Ok(model)
    }

    /// Takes a version off the shelf.
    ///
    /// # Errors
    /// [`MoveError`]; it is then still there.
    pub async fn remove(&self, kind: ModelKind, version: &ModelVersion, with: Move) -> Result<(), MoveError> {
        let registry = &self.inner.registry;
        // A version must not be promoted while it goes.
        let _moves = self.inner.keeper.written.lock().await;
        registry.loaded(kind, version)?;
        let step = AuditRecord { from: self.pins(kind, Some(version)), ..audit::step("remove", kind, with) };
        let store = &self.inner.store;
        let open = audit::begin(store, &step).await?;
        let removed = registry.remove(kind, version).await;
        let (outcome, detail) = match &removed {
            Ok(()) => (audit::DONE, None),
            Err(error) => (audit::REFUSED, Some(error.to_string())),
        };
        store.commit(open.close(Batch::new(), outcome, detail)?).await?;
        Ok(removed?)
    }

    /// Writes the step down, then the roles with the step's end, all or nothing. What is left to do cannot fail.
    async fn make(&self, step: &AuditRecord, roles: Roles, written: &mut Roles, detail: Option<String>) -> Result<(), MoveError> {
        let store = &self.inner.store;
        let open = audit::begin(store, step).await?;
        let batch = open.close(changed(Batch::new(), &self.inner.registry, &roles, written)?, audit::DONE, detail)?;
        if !store.commit(batch).await? {
            return Err(MoveError::Contested);
        }
        *written = roles;
        Ok(())
    }

    fn pins<'a>(&self, kind: ModelKind, versions: impl IntoIterator<Item = &'a ModelVersion>) -> Vec<ModelPin> {
        pins(&self.inner.registry, kind, versions)
    }
}

/// The records of the kinds whose roles are not as `written`, in `batch`.
pub(super) fn changed(mut batch: Batch, registry: &Registry, roles: &Roles, written: &Roles) -> Result<Batch, StoreError> {
    for kind in ModelKind::ALL {
        let now = roles.of(kind);
        if now != written.of(kind) {
            let record = RolesRecord {
                champion: pins(registry, kind, &now.champion).into_iter().next(),
                previous: pins(registry, kind, &now.previous),
                challengers: pins(registry, kind, &now.challengers),
            };
            batch = batch.put(&keys::roles(kind), &record)?;
        }
    }
    Ok(batch)
}

/// Versions with the digests of the bytes that are loaded under them. A version that is not loaded has none, and no role to keep.
pub(super) fn pins<'a>(registry: &Registry, kind: ModelKind, versions: impl IntoIterator<Item = &'a ModelVersion>) -> Vec<ModelPin> {
    versions.into_iter().filter_map(|version| Some(pin(registry.version(kind, version)?.reference()))).collect()
}
