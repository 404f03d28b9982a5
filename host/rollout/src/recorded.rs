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
    /// The digests of the versions in `roles`: one that is not loaded now keeps its role.
    pins: BTreeMap<(ModelKind, ModelVersion), ModelPin>,
    revisions: BTreeMap<ModelKind, Revision>,
}

impl RecordedRoles {
    /// # Errors
    /// The store's failure.
    pub(super) async fn read(store: &Store) -> Result<Self, StoreError> {
        let mut recorded = Self { roles: Roles::default(), pins: BTreeMap::new(), revisions: BTreeMap::new() };
        for kind in ModelKind::ALL {
            let found = store.read(&records::roles(kind)).await?;
            if let Some(record) = found.value {
                recorded.pins.extend(pinned(kind, &record));
                let RolesRecord { champion, previous, challengers, split } = record;
                let versions = |pins: Vec<ModelPin>| pins.into_iter().map(|pin| pin.version).collect();
                let champion = champion.map(|pin| pin.version);
                let (previous, challengers) = (versions(previous), versions(challengers));
                let roles = KindRoles { champion, previous, challengers, split };
                recorded.roles.set(kind, roles);
            }
            recorded.revisions.insert(kind, found.revision);
        }
        Ok(recorded)
    }

    /// Adds to `batch` a record for each kind whose roles differ from the stored ones, and returns what is stored once
    /// the batch is committed. The commit is refused if another host has written one of these records since.
    ///
    /// # Errors
    /// A record that cannot be stored.
    pub(super) fn change(
        &self,
        mut batch: Batch,
        registry: &Registry,
        roles: Roles,
    ) -> Result<(Batch, Self), StoreError> {
        let (mut pins, mut revisions) = (self.pins.clone(), self.revisions.clone());
        for kind in ModelKind::ALL {
            let now = roles.of(kind);
            if now != self.roles.of(kind) {
                let record = RolesRecord {
                    champion: self.pins(registry, kind, &now.champion).into_iter().next(),
                    previous: self.pins(registry, kind, &now.previous),
                    challengers: self.pins(registry, kind, &now.challengers),
                    split: now.split.clone(),
                };
                pins.extend(pinned(kind, &record));
                let key = records::roles(kind);
                let seen = revisions.insert(kind, Revision::of(&key, &record)?).unwrap_or(Revision::ABSENT);
                batch = batch.if_unchanged(&key, seen).put(&key, &record)?;
            }
        }
        Ok((batch, Self { roles, pins, revisions }))
    }

    /// Versions with the digests of their loaded bytes, or else with the stored ones.
    fn pins<'a>(
        &self,
        registry: &Registry,
        kind: ModelKind,
        versions: impl IntoIterator<Item = &'a ModelVersion>,
    ) -> Vec<ModelPin> {
        let stored = |version: &ModelVersion| self.pins.get(&(kind, version.clone())).cloned();
        let pin = |version| pins(registry, kind, [version]).pop().or_else(|| stored(version));
        versions.into_iter().filter_map(pin).collect()
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

/// The versions of a record, each with its digest.
fn pinned(kind: ModelKind, record: &RolesRecord) -> impl Iterator<Item = ((ModelKind, ModelVersion), ModelPin)> {
    let RolesRecord { champion, previous, challengers, .. } = record;
    let all = champion.iter().chain(previous).chain(challengers);
    all.map(move |pin| ((kind, pin.version.clone()), pin.clone()))
}

/// The stored roles, with which a starting server continues.
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_domain::Digest;
    use assay_registry::Settings;
    use assay_store::config::Store as StoreConfig;

    #[tokio::test]
    async fn a_version_that_is_not_loaded_keeps_its_role() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::embedded(folder.path().join("assay.redb"))).await.unwrap();
        let registry = Registry::open(Settings { watch: false, ..Settings::new(folder.path().join("shelf")) }).unwrap();
        let pin = |version: &str, byte| ModelPin { version: version.parse().unwrap(), digest: Digest([byte; 32]) };
        let (kind, champion) = (ModelKind::Credit, pin("1.2", 2));
        let stored = RolesRecord {
            champion: Some(champion.clone()),
            previous: vec![pin("1.0", 0), pin("1.1", 1)],
            challengers: vec![pin("1.3", 3)],
            ..RolesRecord::default()
        };
        store.commit(Batch::new().put(&records::roles(kind), &stored).unwrap()).await.unwrap();

        // The shelf is empty now, and the challengers are removed.
        let recorded = RecordedRoles::read(&store).await.unwrap();
        let mut roles = recorded.roles.clone();
        roles.set(kind, KindRoles { challengers: Vec::new(), ..roles.of(kind) });
        let (batch, after) = recorded.change(Batch::new(), &registry, roles).unwrap();
        assert!(store.commit(batch).await.unwrap());
        let kept = RolesRecord { challengers: Vec::new(), ..stored };
        assert_eq!(store.get(&records::roles(kind)).await.unwrap(), Some(kept));
        assert_eq!(after.roles.champion(kind), Some(&champion.version));
    }
}
