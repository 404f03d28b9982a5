//! What hosts that share a store do alike: uploaded components are on the shelf of each of them, and a role that one
//! moves is moved on all within two seconds. A component that somebody put into one host's folder is that host's alone.
//! What was taken away through the API stays away from every folder, however it comes there, until it is uploaded
//! again.

use crate::rollout::records::{self, COMPONENTS, ComponentRecord};
use std::{collections::HashSet, time::Duration};

use sha2::{Digest as _, Sha256};

use super::{Scoring, provenance::pin};
use crate::tasks::Spawner;
use assay_domain::{Digest, ModelKind, ModelRef};
use assay_registry::{LoadError, RoleError};
use assay_store::{Batch, StoreError};

/// Time between two looks at what the others have done.
const LOOK: Duration = Duration::from_secs(1);

/// A component that was not put on the shelf.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the component could not be given to the other hosts, so it was taken back: {0}")]
    Store(#[from] StoreError),
}

impl Scoring {
    /// Looks, until told to stop, what other hosts have done.
    pub fn follow_fleet(&self, tasks: &Spawner) {
        if !self.inner.store.is_shared() {
            return;
        }
        let (scoring, stopping) = (self.clone(), tasks.stopping());
        tasks.spawn("fleet", async move {
            // What this host cannot do alike: said once, tried again at the next start.
            let mut given_up = HashSet::new();
            let mut away = false;
            loop {
                let looked = scoring.follow(&mut given_up).await;
                match &looked {
                    Err(error) if !away => tracing::error!(%error, "what other hosts do is not seen"),
                    _ => {}
                }
                away = looked.is_err();
                tokio::select! {
                    () = tokio::time::sleep(LOOK) => {}
                    () = stopping.cancelled() => return,
                }
            }
        });
    }

    /// Shelf first: a role may be given to what has just been put there.
    async fn follow(&self, given_up: &mut HashSet<(Digest, bool)>) -> Result<(), StoreError> {
        // Nothing here moves a role or takes a version away meanwhile.
        let mut written = self.inner.keeper.written.lock().await;
        for (_, record) in self.inner.store.list(&COMPONENTS).await? {
            let model = record.reference();
            let told = (model.digest, record.gone);
            if given_up.contains(&told) {
                continue;
            }
            if let Err(reason) = self.follow_one(&record, &model).await? {
                tracing::error!(kind = %model.kind, version = %model.version, reason, "this host's shelf is not like the others'");
                given_up.insert(told);
            }
        }
        self.adopt(&mut written).await
    }

    /// Makes this shelf as `record` says; `Err` within where it cannot be done here.
    async fn follow_one(&self, record: &ComponentRecord, model: &ModelRef) -> Result<Result<(), String>, StoreError> {
        let registry = &self.inner.registry;
        let here = registry.version_of(model.kind, &model.version).map(|model| model.digest());
        match here {
            Some(digest) if record.gone && digest == model.digest => {
                // Its role may move first, on the host that removed it.
                if let Err(error) = registry.remove(model.kind, &model.version).await {
                    return Ok(if matches!(error, RoleError::IsChampion { .. }) {
                        Ok(())
                    } else {
                        Err(error.to_string())
                    });
                }
                tracing::info!(kind = %model.kind, version = %model.version, "taken off the shelf, as it was off the fleet's; an upload brings it back");
                Ok(Ok(()))
            }
            Some(digest) if !record.gone && digest != model.digest => {
                Ok(Err(format!("another file of this version is here, {digest}")))
            }
            None if !record.gone => {
                let Some(text) = self.inner.store.get(&records::component_bytes(&model.digest)).await? else {
                    // It goes just now.
                    return Ok(Ok(()));
                };
                let Ok(bytes) = hex::decode(&text) else {
                    return Ok(Err("its bytes in the store are damaged".to_owned()));
                };
                if digest(&bytes) != model.digest {
                    return Ok(Err("its bytes in the store are others than their digest says".to_owned()));
                }
                Ok(registry.add(bytes).await.map(drop).map_err(|error| error.to_string()))
            }
            _ => Ok(Ok(())),
        }
    }

    /// Puts a component on this shelf and, where the store is shared, into the store, or on neither.
    pub(super) async fn put_on_shelves(&self, bytes: Vec<u8>) -> Result<ModelRef, StageError> {
        let registry = &self.inner.registry;
        if !self.inner.store.is_shared() {
            return Ok(registry.add(bytes).await?);
        }
        let _looks = self.inner.keeper.written.lock().await;
        let (text, own, active) = (hex::encode(&bytes), digest(&bytes), registry.active());
        let is_new =
            !ModelKind::ALL.into_iter().any(|kind| active.loaded(kind).iter().any(|model| model.digest() == own));
        let model = registry.add(bytes).await?;
        let shared = self.share(&model, &text).await;
        if shared.is_err()
            && is_new
            && let Err(error) = registry.remove(model.kind, &model.version).await
        {
            tracing::error!(%error, kind = %model.kind, version = %model.version, "a model is on this host's shelf alone");
        }
        shared.map(|()| model)
    }

    async fn share(&self, model: &ModelRef, text: &String) -> Result<(), StageError> {
        let key = records::component(model.kind, &model.version);
        loop {
            let found = self.inner.store.read(&key).await?;
            match found.value {
                Some(there) if !there.gone && there.pin.digest == model.digest => return Ok(()),
                Some(there) if !there.gone => {
                    let ModelRef { kind, version, .. } = model.clone();
                    return Err(LoadError::VersionTaken { kind, version, loaded: there.pin.digest }.into());
                }
                _ => {}
            }
            let record = ComponentRecord { kind: model.kind, pin: pin(model), gone: false };
            let bytes = records::component_bytes(&model.digest);
            let batch = Batch::new().if_unchanged(&key, found.revision).put(&key, &record)?.put(&bytes, text)?;
            if self.inner.store.commit(batch).await? {
                return Ok(());
            }
        }
    }

    /// `batch` with the word to other hosts that a version is gone.
    pub(super) fn take_off_shelves(&self, batch: Batch, model: &ModelRef) -> Result<Batch, StoreError> {
        if !self.inner.store.is_shared() {
            return Ok(batch);
        }
        let record = ComponentRecord { kind: model.kind, pin: pin(model), gone: true };
        Ok(batch
            .put(&records::component(model.kind, &model.version), &record)?
            .remove(&records::component_bytes(&model.digest)))
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}
