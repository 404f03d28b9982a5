//! Hosts that share a store have the same uploaded components on their shelves, and the same roles within two seconds.
//! A component that an operator copies into the folder of one host stays only on that host. A version that was removed
//! through the API is removed from every folder, also when its file appears there again, until it is uploaded again.
//!
//! A host that cannot load an upload, or remove a version, tries it again after a growing pause. A refusal that depends
//! only on the file is tried again only if a role names the version, or at the next start.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use sha2::{Digest as _, Sha256};

use super::{
    Rollout,
    records::{self, COMPONENTS, ComponentRecord},
};
use assay_domain::{Digest, ModelKind, ModelRef, ModelVersion};
use assay_registry::{KindRoles, LoadError, RoleError};
use assay_store::{Batch, Revision, StoreError};
use assay_tasks::Spawner;

/// Time between two reads of what the other hosts have stored.
const POLL: Duration = Duration::from_secs(1);

/// Pause after the first failure to follow a change, doubled after each further one, and the longest pause.
const PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Maximum wait of an upload for the start of its check.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why a component was not put on the shelf.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the component could not be stored for the other hosts, so it was removed again: {0}")]
    Store(#[from] StoreError),
}

impl Rollout {
    /// Follows the other hosts until the server stops.
    pub(super) fn follow_fleet(&self, tasks: &Spawner) {
        if !self.inner.store.is_shared() {
            return;
        }
        tasks.keep("fleet", self.clone(), |rollout, stopping| async move {
            let mut missed = Missed::default();
            let mut failing = false;
            loop {
                let followed = rollout.follow(&mut missed).await;
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
    async fn follow(&self, missed: &mut Missed) -> Result<(), StoreError> {
        self.follow_shelf(missed).await?;
        let mut recorded = self.inner.recorded.lock().await;
        self.adopt(&mut recorded).await
    }

    /// Roles may change meanwhile: to compile a component takes up to minutes, and a rollback does not wait for it. If
    /// this host removes a version just before its component is loaded, the next round removes it again.
    async fn follow_shelf(&self, missed: &mut Missed) -> Result<(), StoreError> {
        let roles = self.inner.recorded.lock().await.roles.clone();
        for (_, record) in self.inner.store.list(&COMPONENTS).await? {
            let model = record.reference();
            let (change, ModelRef { kind, version, .. }) = ((model.digest, record.gone), &model);
            let (champion, challengers) = (roles.champion(*kind), roles.challengers(*kind));
            let in_split = roles.of(*kind).split.versions().any(|named| named == version);
            let is_named = champion == Some(version) || challengers.contains(version) || in_split;
            if !missed.is_due(change, is_named, Instant::now()) {
                continue;
            }
            let followed =
                if record.gone { self.follow_removal(&model).await } else { self.follow_upload(&model).await? };
            let reason = followed.as_ref().err().map(|refusal| refusal.reason.clone());
            let is_news = missed.tried(change, followed, is_named, Instant::now());
            if let Some(reason) = reason.filter(|_| is_news) {
                tracing::error!(%kind, %version, reason, "the shelf of this host differs from that of the fleet");
            }
        }
        Ok(())
    }

    /// Removes a version that another host has removed; `Err` says why this host cannot.
    async fn follow_removal(&self, model: &ModelRef) -> Result<(), ShelfRefusal> {
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
            Err(error) => Err(ShelfRefusal { reason: error.to_string(), is_lasting: false }),
        }
    }

    /// Loads a component that another host has uploaded; `Err` within says why this host cannot.
    async fn follow_upload(&self, model: &ModelRef) -> Result<Result<(), ShelfRefusal>, StoreError> {
        let refused = |reason: String, is_lasting| Ok(Err(ShelfRefusal { reason, is_lasting }));
        match self.loaded_digest(model) {
            Some(digest) if digest == model.digest => return Ok(Ok(())),
            Some(digest) => return refused(format!("another file of this version is here, {digest}"), true),
            None => {}
        }
        let Some(text) = self.inner.store.get(&records::component_bytes(&model.digest)).await? else {
            // Another host is removing it.
            return Ok(Ok(()));
        };
        let Ok(bytes) = hex::decode(&text) else {
            return refused("its bytes in the store are damaged".to_owned(), false);
        };
        if digest(&bytes) != model.digest {
            return refused("its bytes in the store do not match their digest".to_owned(), false);
        }
        match self.inner.registry.add(bytes).await {
            Ok(_) => Ok(Ok(())),
            Err(error) => refused(error.to_string(), error.is_lasting()),
        }
    }

    /// Whether the fleet has the bytes of this version for hosts that lack it.
    pub(super) async fn is_uploaded(&self, kind: ModelKind, version: &ModelVersion) -> Result<bool, StoreError> {
        let shared = self.inner.store.is_shared();
        let record = if shared { self.inner.store.get(&records::component(kind, version)).await? } else { None };
        Ok(record.is_some_and(|record| !record.gone))
    }

    fn loaded_digest(&self, model: &ModelRef) -> Option<Digest> {
        self.inner.registry.version_of(model.kind, &model.version).map(|model| model.digest())
    }

    /// Puts a component on this shelf and, if the store is shared, into the store, or on neither.
    pub(super) async fn put_on_shelves(&self, bytes: Vec<u8>) -> Result<ModelRef, StageError> {
        let registry = &self.inner.registry;
        if !self.inner.store.is_shared() {
            return Ok(registry.add_within(bytes, PATIENCE).await?);
        }
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
                    let (ModelRef { kind, version, digest }, released) = (model.clone(), stored.pin.digest);
                    return Err(LoadError::VersionTaken { kind, version, digest, released }.into());
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

    /// The bytes of an uploaded component in the store, in hex; `None` if it was not uploaded to a fleet.
    pub(super) async fn shared_bytes(&self, model: &ModelRef) -> Result<Option<String>, StoreError> {
        let store = &self.inner.store;
        if store.is_shared() { store.get(&records::component_bytes(&model.digest)).await } else { Ok(None) }
    }

    /// Adds to `batch` that a version was not removed after all, with its bytes in the store before.
    pub(super) fn put_back(&self, batch: Batch, model: &ModelRef, bytes: Option<&String>) -> Result<Batch, StoreError> {
        let key = records::component(model.kind, &model.version);
        let Some(text) = bytes else { return Ok(batch.remove(&key)) };
        let record = ComponentRecord { kind: model.kind, pin: model.into(), gone: false };
        batch.put(&key, &record)?.put(&records::component_bytes(&model.digest), text)
    }

    /// Lets `batch` be refused if a host has removed a version that answers `after` the change but not `before` it.
    pub(super) async fn if_on_shelves(
        &self,
        mut batch: Batch,
        kind: ModelKind,
        before: &KindRoles,
        after: &KindRoles,
    ) -> Result<Batch, StoreError> {
        if !self.inner.store.is_shared() {
            return Ok(batch);
        }
        for version in after.answering().filter(|version| before.answering().all(|known| known != *version)) {
            let key = records::component(kind, version);
            let found = self.inner.store.read(&key).await?;
            // A removed version has a record, so the commit is refused.
            let is_gone = found.value.is_some_and(|record| record.gone);
            batch = batch.if_unchanged(&key, if is_gone { Revision::ABSENT } else { found.revision });
        }
        Ok(batch)
    }
}

fn digest(bytes: &[u8]) -> Digest {
    Digest(Sha256::digest(bytes).into())
}

/// Why this host cannot follow a change.
struct ShelfRefusal {
    reason: String,
    /// Another try would end the same way.
    is_lasting: bool,
}

/// The digest of a component, and whether it was removed.
type ShelfChange = (Digest, bool);

/// Changes by other hosts that this host could not follow, with its last try.
#[derive(Default)]
struct Missed(HashMap<ShelfChange, Try>);

struct Try {
    reason: String,
    /// When the next try is due; `None` after a lasting refusal.
    next: Option<Instant>,
    pause: Duration,
    /// Whether a role names the version.
    is_named: bool,
}

impl Missed {
    /// Whether `change` is to be tried now: it is new, its pause is over, or a role has come to name the version.
    fn is_due(&mut self, change: ShelfChange, is_named: bool, now: Instant) -> bool {
        let Some(last) = self.0.get_mut(&change) else { return true };
        let was_named = std::mem::replace(&mut last.is_named, is_named);
        (is_named && !was_named) || last.next.is_some_and(|next| next <= now)
    }

    /// Records the result of a try. Returns whether it is a failure for a new reason.
    fn tried(&mut self, change: ShelfChange, followed: Result<(), ShelfRefusal>, is_named: bool, now: Instant) -> bool {
        let last = self.0.remove(&change);
        let Err(ShelfRefusal { reason, is_lasting }) = followed else { return false };
        let pause = last.as_ref().map_or(PAUSE, |last| last.pause.saturating_mul(2).min(LONGEST_PAUSE));
        let is_news = last.is_none_or(|last| last.reason != reason);
        let next = now.checked_add(pause).filter(|_| !is_lasting);
        self.0.insert(change, Try { reason, next, pause, is_named });
        is_news
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_may_pass_is_tried_again_and_a_lasting_one_if_a_role_names_the_version() {
        let (start, mut missed) = (Instant::now(), Missed::default());
        let after = |seconds| start + Duration::from_secs(seconds);
        let refusal = |is_lasting| Err(ShelfRefusal { reason: "the disk is full".to_owned(), is_lasting });
        let [busy, wrong] = [1, 2].map(|byte| (Digest([byte; 32]), false));
        for (change, is_lasting) in [(busy, false), (wrong, true)] {
            assert!(missed.is_due(change, false, start));
            assert!(missed.tried(change, refusal(is_lasting), false, start));
        }
        assert!(!missed.is_due(busy, false, after(4)) && missed.is_due(busy, false, after(5)));
        assert!(!missed.tried(busy, refusal(false), false, after(5)), "the same reason is logged once");
        assert!(!missed.is_due(busy, false, after(14)) && missed.is_due(busy, false, after(15)));
        assert!(!missed.is_due(wrong, false, after(1_000_000)));
        // A role names them: each is tried once more at once.
        for (change, is_lasting) in [(busy, false), (wrong, true)] {
            assert!(missed.is_due(change, true, after(6)));
            missed.tried(change, refusal(is_lasting), true, after(6));
            assert!(!missed.is_due(change, true, after(7)));
        }
        assert!(missed.is_due(busy, true, after(26)));
        missed.tried(busy, Ok(()), true, after(26));
        assert!(missed.is_due(busy, true, after(26)), "a change that was followed is as a new one");
        // The pause has a limit.
        let now = (0..20).fold(start, |now, _| {
            missed.tried(busy, refusal(false), true, now);
            now + LONGEST_PAUSE
        });
        assert!(missed.is_due(busy, true, now));
    }
}
