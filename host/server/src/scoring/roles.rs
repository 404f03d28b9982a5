//! Roles of models, written down before they are moved, so that a restart answers with the same champion; and every
//! move, also one that nobody asked for, in the audit log.

use crate::rollout::records::{self, AuditRecord, RolesRecord};
use assay_domain::ModelPin;
use std::collections::BTreeMap;

use tokio::sync::Mutex;

use super::{
    Scoring,
    audit::{self, Move},
    fleet::StageError,
    promotion::Figures,
    provenance::pin,
};
use assay_domain::{ModelKind, ModelRef, ModelVersion};
use assay_registry::{KindRoles, Registry, RoleError, Roles};
use assay_store::{Batch, Revision, Store, StoreError};

/// A role that was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error(transparent)]
    Role(#[from] RoleError),
    #[error("the role could not be written down, so it was not moved: {0}")]
    Store(#[from] StoreError),
    #[error("another host moved a role at the same time; look at the roles and try again")]
    Contested,
    #[error("{kind} {version} was not promoted: {}. Give `force` and a `why` to promote it all the same", .figures.verdict())]
    Guarded { kind: ModelKind, version: ModelVersion, figures: Box<Figures> },
}

/// The one who writes roles down: what the store holds now, behind a lock so that two moves never interleave.
pub(super) struct Keeper {
    pub written: Mutex<Written>,
}

/// Roles as they stand in the store, as far as this host has seen.
#[derive(Clone, PartialEq)]
pub(super) struct Written {
    pub roles: Roles,
    revisions: BTreeMap<ModelKind, Revision>,
}

impl Keeper {
    pub fn new(written: Written) -> Self {
        Self { written: Mutex::new(written) }
    }
}

impl Written {
    /// # Errors
    /// The store's failure.
    pub async fn read(store: &Store) -> Result<Self, StoreError> {
        let mut written = Self { roles: Roles::default(), revisions: BTreeMap::new() };
        for kind in ModelKind::ALL {
            let found = store.read(&records::roles(kind)).await?;
            if let Some(record) = found.value {
                let versions = |pins: Vec<ModelPin>| pins.into_iter().map(|pin| pin.version).collect();
                let champion = record.champion.map(|pin| pin.version);
                let roles = KindRoles {
                    champion,
                    previous: versions(record.previous),
                    challengers: versions(record.challengers),
                };
                written.roles.set(kind, roles);
            }
            written.revisions.insert(kind, found.revision);
        }
        Ok(written)
    }

    /// `batch` with the records of the kinds whose roles are others now, refused where another host has written one
    /// since; and what is written then.
    pub fn change(&self, mut batch: Batch, registry: &Registry, roles: &Roles) -> Result<(Batch, Self), StoreError> {
        let mut after = Self { roles: roles.clone(), revisions: self.revisions.clone() };
        for kind in ModelKind::ALL {
            let now = roles.of(kind);
            if now != self.roles.of(kind) {
                let record = RolesRecord {
                    champion: pins(registry, kind, &now.champion).into_iter().next(),
                    previous: pins(registry, kind, &now.previous),
                    challengers: pins(registry, kind, &now.challengers),
                };
                let key = records::roles(kind);
                let seen = after.revisions.insert(kind, Revision::of(&key, &record)?).unwrap_or(Revision::ABSENT);
                batch = batch.if_unchanged(&key, seen).put(&key, &record)?;
            }
        }
        Ok((batch, after))
    }
}

/// The roles that were in force when they were last written down.
///
/// # Errors
/// The store's failure.
pub async fn remembered(store: &Store) -> Result<Roles, StoreError> {
    Ok(Written::read(store).await?.roles)
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
            self.inner
                .store
                .commit(audit::whole(Batch::new(), &step, audit::REFUSED, Some(figures.verdict()))?)
                .await?;
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
        roles.roll_back(kind, &version);
        self.make(&step, roles, &mut written, None).await?;
        registry.roll_back(kind, &version)?;
        Ok(version)
    }

    /// Makes loaded versions score in the shadow, instead of those before.
    ///
    /// # Errors
    /// [`MoveError`]; the roles are then where they were.
    pub async fn set_challengers(
        &self,
        kind: ModelKind,
        versions: &[ModelVersion],
        with: Move,
    ) -> Result<(), MoveError> {
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

    /// Puts a component on the shelf, in a fleet on that of every host.
    ///
    /// # Errors
    /// [`StageError`]: what is wrong with it. The log says only what was put there, and a component is there also where
    /// that could not be written.
    pub async fn stage(&self, bytes: Vec<u8>, with: Move) -> Result<ModelRef, StageError> {
        let model = self.put_on_shelves(bytes).await?;
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
        let model = registry.loaded(kind, version)?;
        let step = AuditRecord { from: self.pins(kind, Some(version)), ..audit::step("remove", kind, with) };
        let store = &self.inner.store;
        let open = audit::begin(store, &step).await?;
        let removed = registry.remove(kind, version).await;
        let (batch, outcome, detail) = match &removed {
            Ok(()) => (self.take_off_shelves(Batch::new(), model.reference())?, audit::DONE, None),
            Err(error) => (Batch::new(), audit::REFUSED, Some(error.to_string())),
        };
        store.commit(open.close(batch, outcome, detail)?).await?;
        Ok(removed?)
    }

    /// Writes the step down, then the roles with the step's end, all or nothing. What is left to do cannot fail.
    async fn make(
        &self,
        step: &AuditRecord,
        roles: Roles,
        written: &mut Written,
        detail: Option<String>,
    ) -> Result<(), MoveError> {
        let store = &self.inner.store;
        let open = audit::begin(store, step).await?;
        let (batch, after) = written.change(Batch::new(), &self.inner.registry, &roles)?;
        if !store.commit(open.close(batch, audit::DONE, detail)?).await? {
            // Where somebody else moved a role, the step is left open, and it is closed here as one that was not made.
            store
                .commit(open.close(Batch::new(), audit::NOT_DONE, Some("another host moved a role".to_owned()))?)
                .await?;
            self.adopt(written).await?;
            return Err(MoveError::Contested);
        }
        *written = after;
        Ok(())
    }

    /// Puts in force what another host has written since.
    pub(super) async fn adopt(&self, written: &mut Written) -> Result<(), StoreError> {
        let found = Written::read(&self.inner.store).await?;
        if found != *written {
            if found.roles != written.roles {
                self.inner.registry.restore(found.roles.clone());
            }
            *written = found;
        }
        Ok(())
    }

    fn pins<'a>(&self, kind: ModelKind, versions: impl IntoIterator<Item = &'a ModelVersion>) -> Vec<ModelPin> {
        pins(&self.inner.registry, kind, versions)
    }
}

/// Versions with the digests of the bytes that are loaded under them. A version that is not loaded has none, and no
/// role to keep.
pub(super) fn pins<'a>(
    registry: &Registry,
    kind: ModelKind,
    versions: impl IntoIterator<Item = &'a ModelVersion>,
) -> Vec<ModelPin> {
    versions.into_iter().filter_map(|version| Some(pin(registry.version_of(kind, version)?.reference()))).collect()
}
