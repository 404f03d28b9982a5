//! The roles of models as the store holds them, as far as this host has read or written them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Rollout,
    records::{self, RolesRecord},
};
use assay_domain::{Digest, ModelKind, ModelPin, ModelVersion};
use assay_registry::{KindRoles, Registry, Released, Roles};
use assay_store::{Batch, Revision, Store, StoreError};

/// The stored roles, with the revision of each kind's record.
#[derive(Clone, PartialEq)]
pub struct RecordedRoles {
    pub roles: Roles,
    /// The digests of the versions in `roles`: one that is not loaded now keeps its role.
    pub released: Released,
    revisions: BTreeMap<ModelKind, Revision>,
}

impl RecordedRoles {
    /// # Errors
    /// The store's failure.
    pub async fn read(store: &Store) -> Result<Self, StoreError> {
        let mut recorded = Self { roles: Roles::default(), released: Released::new(), revisions: BTreeMap::new() };
        for kind in ModelKind::ALL {
            let found = store.read(&records::roles(kind)).await?;
            if let Some(record) = found.value {
                recorded.released.extend(released(kind, &record));
                let RolesRecord { champion, previous, challengers, split, assigned, .. } = record;
                let versions = |pins: Vec<ModelPin>| pins.into_iter().map(|pin| pin.version).collect();
                let champion = champion.map(|pin| pin.version);
                let (previous, challengers) = (versions(previous), versions(challengers));
                let roles = KindRoles { champion, previous, challengers, split, assigned };
                recorded.roles.set(kind, roles);
            }
            recorded.revisions.insert(kind, found.revision);
        }
        Ok(recorded)
    }

    /// Adds to `batch` a record for each kind whose roles or digests differ from the stored ones, and returns what is
    /// stored once the batch is committed. The commit is refused if another host has written one of these records
    /// since.
    ///
    /// # Errors
    /// A record that cannot be stored.
    pub(super) fn change(
        &self,
        mut batch: Batch,
        registry: &Registry,
        roles: Roles,
    ) -> Result<(Batch, Self), StoreError> {
        let (mut digests, mut revisions) = (self.released.clone(), self.revisions.clone());
        for kind in ModelKind::ALL {
            let now = roles.of(kind);
            let record = RolesRecord {
                champion: self.pins(registry, kind, &now.champion).into_iter().next(),
                previous: self.pins(registry, kind, &now.previous),
                challengers: self.pins(registry, kind, &now.challengers),
                split: now.split.clone(),
                split_models: self.pins(registry, kind, now.split.versions().collect::<BTreeSet<_>>()),
                assigned: now.assigned.clone(),
            };
            let named: Released = released(kind, &record).collect();
            let stored = self.released.iter().filter(|((of, _), _)| *of == kind);
            if now != self.roles.of(kind) || named.iter().ne(stored) {
                digests.retain(|(of, _), _| *of != kind);
                digests.extend(named);
                let key = records::roles(kind);
                revisions.insert(kind, Revision::of(&key, &record)?);
                batch = self.if_unchanged(batch, kind).put(&key, &record)?;
            }
        }
        Ok((batch, Self { roles, released: digests, revisions }))
    }

    /// Adds to `batch` the condition that no other host has changed the roles of a kind since they were read.
    pub(super) fn if_unchanged(&self, batch: Batch, kind: ModelKind) -> Batch {
        let seen = self.revisions.get(&kind).cloned().unwrap_or(Revision::ABSENT);
        batch.if_unchanged(&records::roles(kind), seen)
    }

    /// Versions with the digests of their loaded bytes, or else with the stored ones.
    fn pins<'a>(
        &self,
        registry: &Registry,
        kind: ModelKind,
        versions: impl IntoIterator<Item = &'a ModelVersion>,
    ) -> Vec<ModelPin> {
        let stored = |version: &ModelVersion| {
            let digest = *self.released.get(&(kind, version.clone()))?;
            Some(ModelPin { version: version.clone(), digest })
        };
        let pin = |version| pins(registry, kind, [version]).pop().or_else(|| stored(version));
        versions.into_iter().filter_map(pin).collect()
    }
}

impl Rollout {
    /// Reads the stored roles again, and puts in force what another host has changed. A version to which it has given a
    /// role returns to service here, too.
    pub(super) async fn adopt(&self, recorded: &mut RecordedRoles) -> Result<(), StoreError> {
        let before = recorded.roles.clone();
        self.note(recorded, RecordedRoles::read(&self.inner.store).await?);
        for kind in ModelKind::ALL {
            let (before, roles) = (before.of(kind), recorded.roles.of(kind));
            if roles != before {
                let mut again = roles.assigned_since(&before);
                again.extend(roles.champion.clone().filter(|version| before.champion.as_ref() != Some(version)));
                self.inner.registry.assign(kind, roles, &again, "restore");
            }
        }
        Ok(())
    }

    /// Notes what is stored. No version with a role answers by other bytes from now on.
    pub(super) fn note(&self, recorded: &mut RecordedRoles, stored: RecordedRoles) {
        if stored.released != recorded.released {
            self.inner.registry.release(&stored.released);
        }
        *recorded = stored;
    }
}

/// The versions of a record, each with its digest.
fn released(kind: ModelKind, record: &RolesRecord) -> impl Iterator<Item = ((ModelKind, ModelVersion), Digest)> {
    let RolesRecord { champion, previous, challengers, split_models, split: _, assigned: _ } = record;
    let all = champion.iter().chain(previous).chain(challengers).chain(split_models);
    all.map(move |pin| ((kind, pin.version.clone()), pin.digest))
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
    use assay_registry::{KeyPin, Settings, Split};
    use assay_store::config::Store as StoreConfig;

    #[tokio::test]
    async fn a_version_that_is_not_loaded_keeps_its_role() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::embedded(folder.path().join("assay.redb"))).await.unwrap();
        let registry = Registry::open(Settings { watch: false, ..Settings::new(folder.path().join("shelf")) }).unwrap();
        let pin = |version: &str, byte| ModelPin { version: version.parse().unwrap(), digest: Digest([byte; 32]) };
        let (kind, champion) = (ModelKind::Credit, pin("1.2", 2));
        let until = assay_domain::time_from_unix(4_000_000_000);
        let lender = KeyPin { key: "lender".to_owned(), version: pin("1.4", 4).version, until };
        let stored = RolesRecord {
            champion: Some(champion.clone()),
            previous: vec![pin("1.0", 0), pin("1.1", 1)],
            challengers: vec![pin("1.3", 3)],
            split: Split { pins: vec![lender], ..Split::default() },
            split_models: vec![pin("1.4", 4)],
            assigned: BTreeMap::from([(champion.version.clone(), until)]),
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
        // Other bytes of a version without a role may be loaded.
        let named = [pin("1.0", 0), pin("1.1", 1), champion, pin("1.4", 4)];
        let released: Released = named.into_iter().map(|pin| ((kind, pin.version), pin.digest)).collect();
        assert_eq!((&after.released, &RecordedRoles::read(&store).await.unwrap().released), (&released, &released));
    }
}
