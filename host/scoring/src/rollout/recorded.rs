//! The roles of models as the store holds them, as far as this host has read or written them.

use std::collections::BTreeMap;

use super::{
    Rollout,
    records::{self, RolesRecord},
};
use assay_domain::{ModelKind, ModelPin, ModelVersion};
use assay_registry::{KindRoles, Registry, Roles};
use assay_store::{Batch, Revision, Store, StoreError};

/// The stored roles, with the revision of each kind's record.
#[derive(Clone, PartialEq)]
pub(super) struct RecordedRoles {
    pub roles: Roles,
    revisions: BTreeMap<ModelKind, Revision>,
}

impl RecordedRoles {
    /// # Errors
    /// The store's failure.
    pub(super) async fn read(store: &Store) -> Result<Self, StoreError> {
        let mut recorded = Self { roles: Roles::default(), revisions: BTreeMap::new() };
        for kind in ModelKind::ALL {
            let found = store.read(&records::roles(kind)).await?;
            if let Some(RolesRecord { champion, previous, challengers }) = found.value {
                let versions = |pins: Vec<ModelPin>| pins.into_iter().map(|pin| pin.version).collect();
                let champion = champion.map(|pin| pin.version);
                let roles = KindRoles { champion, previous: versions(previous), challengers: versions(challengers) };
                recorded.roles.set(kind, roles);
            }
            recorded.revisions.insert(kind, found.revision);
        }
        Ok(recorded)
    }

    /// Adds to `batch` a record for each kind whose roles differ from the stored ones, and returns what is stored once
    /// the batch is committed. The commit is refused where another host has written one of these records since.
    ///
    /// # Errors
    /// A record that cannot be stored.
    pub(super) fn change(
        &self,
        mut batch: Batch,
        registry: &Registry,
        roles: Roles,
    ) -> Result<(Batch, Self), StoreError> {
        let mut revisions = self.revisions.clone();
        for kind in ModelKind::ALL {
            let now = roles.of(kind);
            if now != self.roles.of(kind) {
                let record = RolesRecord {
                    champion: pins(registry, kind, &now.champion).into_iter().next(),
                    previous: pins(registry, kind, &now.previous),
                    challengers: pins(registry, kind, &now.challengers),
                };
                let key = records::roles(kind);
                let seen = revisions.insert(kind, Revision::of(&key, &record)?).unwrap_or(Revision::ABSENT);
                batch = batch.if_unchanged(&key, seen).put(&key, &record)?;
            }
        }
        Ok((batch, Self { roles, revisions }))
    }
}

impl Rollout {
    /// Reads the stored roles again, and puts in force what another host has changed.
    pub(super) async fn adopt(&self, recorded: &mut RecordedRoles) -> Result<(), StoreError> {
        let found = RecordedRoles::read(&self.inner.store).await?;
        if found.roles != recorded.roles {
            let registry = &self.inner.registry;
            let current = registry.roles();
            for kind in ModelKind::ALL.into_iter().filter(|kind| found.roles.of(*kind) != current.of(*kind)) {
                let roles = found.roles.of(kind);
                let champion = roles.champion.clone().filter(|version| current.champion(kind) != Some(version));
                registry.assign(kind, roles, champion.as_slice(), "restore");
            }
        }
        *recorded = found;
        Ok(())
    }
}

/// The stored roles, from which a starting server goes on.
///
/// # Errors
/// The store's failure.
pub async fn stored_roles(store: &Store) -> Result<Roles, StoreError> {
    Ok(RecordedRoles::read(store).await?.roles)
}

/// Versions with the digests of their loaded bytes. Versions that are not loaded are left out.
pub(super) fn pins<'a>(
    registry: &Registry,
    kind: ModelKind,
    versions: impl IntoIterator<Item = &'a ModelVersion>,
) -> Vec<ModelPin> {
    versions.into_iter().filter_map(|version| Some(registry.version_of(kind, version)?.reference().into())).collect()
}
