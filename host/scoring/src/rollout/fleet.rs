//! Hosts that share a store have the same uploaded components on their shelves, and the same roles within two seconds.
//! A component that an operator copies into the folder of one host stays on that host alone. A version that was removed
//! through the API is removed from every folder, also when its file appears there again, until it is uploaded again.

use std::{collections::HashSet, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{
    Rollout,
    records::{self, COMPONENTS, ComponentRecord},
};
use assay_domain::{Digest, ModelKind, ModelRef};
use assay_registry::{LoadError, RoleError};
use assay_store::{Batch, StoreError};
use assay_tasks::Spawner;

/// Time between two reads of what the other hosts have stored.
const POLL: Duration = Duration::from_secs(1);

/// Maximum wait of an upload for the start of its check.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a component was not put on the shelf.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the component could not be given to the other hosts, so it was taken back: {0}")]
    Store(#[from] StoreError),
}

impl Rollout {
    /// Follows the other hosts until the server stops.
    pub(super) fn follow_fleet(&self, tasks: &Spawner) {
        if !self.inner.store.is_shared() {
            return;
        }
        let (rollout, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("fleet", async move {
            // Records that this host cannot follow: logged once, and tried again at the next start.
            let mut given_up = HashSet::new();
            let mut failing = false;
            loop {
                let followed = rollout.follow(&mut given_up).await;
                if let (Err(error), false) = (&followed, failing) {
                    tracing::error!(%error, "changes by other hosts cannot be read");
                }
                failing = followed.is_err();
                tokio::select! {
                    () = tokio::time::sleep(POLL) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// Follows the shelf before the roles: a role may name a component that was put there just before.
    async fn follow(&self, given_up: &mut HashSet<(Digest, bool)>) -> Result<(), StoreError> {
        // This host changes no role and removes no version meanwhile.
        let mut recorded = self.inner.recorded.lock().await;
        for (_, record) in self.inner.store.list(&COMPONENTS).await? {
            let model = record.reference();
            let change = (model.digest, record.gone);
            if given_up.contains(&change) {
                continue;
            }
            let followed =
                if record.gone { self.follow_removal(&model).await } else { self.follow_upload(&model).await? };
            if let Err(reason) = followed {
                let ModelRef { kind, version, .. } = &model;
                tracing::error!(%kind, %version, reason, "the shelf of this host differs from that of the fleet");
                given_up.insert(change);
            }
        }
        self.adopt(&mut recorded).await
    }

    /// Removes a version that another host has removed; `Err` says why this host cannot.
    async fn follow_removal(&self, model: &ModelRef) -> Result<(), String> {
        let registry = &self.inner.registry;
        if self.loaded_digest(model) != Some(model.digest) {
            return Ok(());
        }
        let ModelRef { kind, version, .. } = model;
        match registry.remove(*kind, version).await {
            Ok(()) => {
                tracing::info!(%kind, %version, "removed, as on another host; an upload brings it back");
                Ok(())
            }
            // Its role changes first, and this host follows that a moment later.
            Err(RoleError::IsChampion { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Loads a component that another host has uploaded; `Err` within says why this host cannot.
    async fn follow_upload(&self, model: &ModelRef) -> Result<Result<(), String>, StoreError> {
        match self.loaded_digest(model) {
            Some(digest) if digest == model.digest => return Ok(Ok(())),
            Some(digest) => return Ok(Err(format!("another file of this version is here, {digest}"))),
            None => {}
        }
        let Some(text) = self.inner.store.get(&records::component_bytes(&model.digest)).await? else {
            // Another host removes it at this moment.
            return Ok(Ok(()));
        };
        let Ok(bytes) = hex::decode(&text) else {
            return Ok(Err("its bytes in the store are damaged".to_owned()));
        };
        if digest(&bytes) != model.digest {
            return Ok(Err("its bytes in the store do not match their digest".to_owned()));
        }
        Ok(self.inner.registry.add(bytes).await.map(drop).map_err(|error| error.to_string()))
    }

    fn loaded_digest(&self, model: &ModelRef) -> Option<Digest> {
        self.inner.registry.version_of(model.kind, &model.version).map(|model| model.digest())
    }

    /// Puts a component on this shelf and, where the store is shared, into the store, or on neither.
    pub(super) async fn put_on_shelves(&self, bytes: Vec<u8>) -> Result<ModelRef, StageError> {
        let registry = &self.inner.registry;
        if !self.inner.store.is_shared() {
            return Ok(registry.add_within(bytes, PATIENCE).await?);
        }
        let recorded = tokio::time::timeout(PATIENCE, self.inner.recorded.lock()).await;
        let _recorded = recorded.map_err(|_| LoadError::Busy)?;
        let (text, own, active) = (hex::encode(&bytes), digest(&bytes), registry.active());
        let is_new =
            !ModelKind::ALL.into_iter().any(|kind| active.loaded(kind).iter().any(|model| model.digest() == own));
        let model = registry.add_within(bytes, PATIENCE).await?;
        let shared = self.share(&model, &text).await;
        if shared.is_err()
            && is_new
            && let Err(error) = registry.remove(model.kind, &model.version).await
        {
            let ModelRef { kind, version, .. } = &model;
            tracing::error!(%error, %kind, %version, "a model is on the shelf of this host only");
        }
        shared.map(|()| model)
    }

    /// Stores the component for the other hosts.
    async fn share(&self, model: &ModelRef, text: &String) -> Result<(), StageError> {
        let key = records::component(model.kind, &model.version);
        loop {
            let found = self.inner.store.read(&key).await?;
            match found.value {
                Some(stored) if !stored.gone && stored.pin.digest == model.digest => return Ok(()),
                Some(stored) if !stored.gone => {
                    let ModelRef { kind, version, .. } = model.clone();
                    return Err(LoadError::VersionTaken { kind, version, loaded: stored.pin.digest }.into());
                }
                _ => {}
            }
            let record = ComponentRecord { kind: model.kind, pin: model.into(), gone: false };
            let bytes = records::component_bytes(&model.digest);
            let batch = Batch::new().if_unchanged(&key, found.revision).put(&key, &record)?.put(&bytes, text)?;
            if self.inner.store.commit(batch).await? {
                return Ok(());
            }
        }
    }

    /// Adds to `batch` that a version is removed, for the other hosts.
    pub(super) fn take_off_shelves(&self, batch: Batch, model: &ModelRef) -> Result<Batch, StoreError> {
        if !self.inner.store.is_shared() {
            return Ok(batch);
        }
        let record = ComponentRecord { kind: model.kind, pin: model.into(), gone: true };
        Ok(batch
            .put(&records::component(model.kind, &model.version), &record)?
            .remove(&records::component_bytes(&model.digest)))
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}
