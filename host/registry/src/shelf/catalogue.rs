//! The catalogue: the files of the shelf, the loaded models and the roles. The active models are derived from it.

use std::{collections::BTreeMap, sync::Arc};

use super::Stamp;
use crate::{
    Chosen, LoadError, Model, Reason, Released, RoleError, Roles, ScoreError,
    active::{ActiveModels, KindModels},
    call::price,
    split::ActiveSplit,
};
use assay_domain::{Digest, ModelInfo, ModelKind, ModelVersion, Time};

pub(crate) type FileKey = (ModelKind, ModelVersion);

#[derive(Default)]
pub(crate) struct Catalogue {
    pub files: BTreeMap<String, ShelfFile>,
    pub models: BTreeMap<FileKey, ShelfEntry>,
    pub roles: Roles,
    /// See [`crate::Settings::released`].
    pub released: Released,
    /// See [`crate::Settings::first_champions`].
    pub first_champions: BTreeMap<ModelKind, ModelVersion>,
    /// Whether files that were on the shelf at the start are still being compiled. While a champion may be among them,
    /// no other version replaces it.
    pub starting: bool,
}

/// One file of the shelf, as of the last scan.
pub(crate) struct ShelfFile {
    pub stamp: Stamp,
    pub outcome: LoadOutcome,
}

pub(crate) enum LoadOutcome {
    Loaded(FileKey),
    Failed {
        rejected: Box<Rejected>,
        /// The model that the file contained before. It stays loaded.
        replaced: Option<FileKey>,
    },
}

/// A file that did not load.
pub(crate) struct Rejected {
    /// `None` for an unreadable file.
    pub digest: Option<Digest>,
    /// The model's own description, if `describe` was reached.
    pub info: Option<ModelInfo>,
    pub error: LoadError,
}

/// One loaded version.
pub(crate) struct ShelfEntry {
    pub model: Arc<Model>,
    /// Why it is out of service.
    pub out_of_service: Option<Reason>,
    /// Why it is loaded although its file is gone.
    pub orphaned: Option<Reason>,
}

impl Catalogue {
    /// The champion by role, or a substitute while it is out of service. Nothing stands in for a champion that is not
    /// loaded: other hosts of the fleet have it, and a client would take the other score for the champion's.
    pub(crate) fn champion(&self, kind: ModelKind) -> Option<&ShelfEntry> {
        let Some(version) = self.roles.champion(kind) else { return self.first(kind) };
        let by_role = self.models.get(&(kind, version.clone()))?;
        if by_role.out_of_service.is_none() { Some(by_role) } else { self.instead_of(kind, version) }
    }

    /// Why no version of `kind` answers, and what to do; `None` if one does.
    pub(crate) fn vacancy(&self, kind: ModelKind) -> Option<String> {
        if self.champion(kind).is_some() {
            return None;
        }
        let lost = self.roles.champion(kind).filter(|_| !self.starting).map(|version| self.absent(kind, version));
        Some(match lost {
            Some(why) => format!(
                "the champion cannot answer, and no other version stands in for it: {why}. Put its file on the shelf, \
                 or promote another version"
            ),
            None => ScoreError::NoChampion(kind).to_string(),
        })
    }

    /// The versions of the split of `kind` that are to answer at `now` and cannot, each with its reason.
    pub(crate) fn gaps(&self, kind: ModelKind, now: Time) -> Vec<ScoreError> {
        let split = self.roles.of(kind).split;
        let pins = split.pins.iter().filter(|pin| now < pin.until).map(|pin| (&pin.version, Chosen::Pinned));
        let shares = split.shares.iter().map(|share| (&share.version, Chosen::Split));
        let gap = |(version, chosen)| self.in_service(kind, version).err()?.gap(chosen);
        pins.chain(shares).filter_map(gap).collect()
    }

    /// The first champion of a kind that has none: the configured version, or the highest.
    fn first(&self, kind: ModelKind) -> Option<&ShelfEntry> {
        let configured = self.first_champions.get(&kind);
        let loaded = configured.and_then(|version| self.in_service(kind, version).ok());
        if configured.is_some() && loaded.is_none() && self.starting {
            return None;
        }
        loaded.or_else(|| self.highest(kind, None))
    }

    /// The highest version in service below `version`, so a failure does not make a newer one champion. If there is
    /// none, the highest.
    fn instead_of(&self, kind: ModelKind, version: &ModelVersion) -> Option<&ShelfEntry> {
        let in_service = |entry: &&ShelfEntry| entry.out_of_service.is_none();
        let below = self.of(kind).rev().filter(in_service).find(|entry| entry.model.version() < version);
        below.or_else(|| self.highest(kind, Some(version)))
    }

    pub(crate) fn is_champion(&self, key: &FileKey) -> bool {
        self.champion(key.0).is_some_and(|entry| *entry.model.version() == key.1)
    }

    pub(crate) fn is_in_split(&self, (kind, version): &FileKey) -> bool {
        self.roles.split(*kind).is_some_and(|split| split.has(version))
    }

    /// The highest version of `kind` in service, except `except`.
    pub(crate) fn highest(&self, kind: ModelKind, except: Option<&ModelVersion>) -> Option<&ShelfEntry> {
        self.of(kind).rev().find(|entry| entry.out_of_service.is_none() && Some(entry.model.version()) != except)
    }

    pub(crate) fn of(&self, kind: ModelKind) -> impl DoubleEndedIterator<Item = &ShelfEntry> {
        self.models.values().filter(move |entry| entry.model.kind() == kind)
    }

    /// Ends the start phase when no file is left to compile.
    pub(crate) fn note_start(&mut self) {
        let is_compiling = |file: &ShelfFile| match &file.outcome {
            LoadOutcome::Failed { rejected, .. } => rejected.error == LoadError::Compiling,
            LoadOutcome::Loaded(_) => false,
        };
        self.starting = self.starting && self.files.values().any(is_compiling);
    }

    /// Makes a version the champion of each kind that has none.
    pub(crate) fn fill_vacancies(&mut self) {
        for kind in ModelKind::ALL {
            if self.roles.champion(kind).is_none()
                && let Some(version) = self.first(kind).map(|entry| entry.model.version().clone())
            {
                self.roles.promote(kind, &version);
            }
        }
    }

    /// The loaded version, or an error with the loaded versions.
    pub(crate) fn entry(&mut self, kind: ModelKind, version: &ModelVersion) -> Result<&mut ShelfEntry, RoleError> {
        let loaded = self.of(kind).map(|entry| entry.model.version().to_string()).collect();
        self.models.get_mut(&(kind, version.clone())).ok_or_else(|| RoleError::Unknown {
            kind,
            version: version.clone(),
            loaded,
        })
    }

    /// Checks that a version is loaded and answers no requests.
    pub(crate) fn may_remove(&mut self, key: &FileKey) -> Result<(), RoleError> {
        let (kind, version) = key.clone();
        self.entry(kind, &version)?;
        if self.is_champion(key) {
            return Err(RoleError::IsChampion { kind, version });
        }
        if self.is_in_split(key) {
            return Err(RoleError::InSplit { kind, version });
        }
        Ok(())
    }

    /// Checks that all `versions` are loaded and none is the champion.
    pub(crate) fn may_challenge(&mut self, kind: ModelKind, versions: &[ModelVersion]) -> Result<(), RoleError> {
        for version in versions {
            self.entry(kind, version)?;
            if self.is_champion(&(kind, version.clone())) {
                return Err(RoleError::ChallengesItself { kind, version: version.clone() });
            }
        }
        Ok(())
    }

    /// The loaded version, if it is in service.
    ///
    /// # Errors
    /// [`RoleError::OutOfService`], [`RoleError::NotLoaded`] with the error of its file, or [`RoleError::Unknown`].
    pub(crate) fn in_service(&self, kind: ModelKind, version: &ModelVersion) -> Result<&ShelfEntry, RoleError> {
        let Some(entry) = self.models.get(&(kind, version.clone())) else { return Err(self.absent(kind, version)) };
        match &entry.out_of_service {
            None => Ok(entry),
            Some(Reason { message, .. }) => {
                Err(RoleError::OutOfService { kind, version: version.clone(), why: message.clone() })
            }
        }
    }

    /// Why a version is not loaded: its file has an error or may still be compiled, or there is none.
    pub(crate) fn absent(&self, kind: ModelKind, version: &ModelVersion) -> RoleError {
        let of_it = |file: &ShelfFile| match &file.outcome {
            LoadOutcome::Failed { rejected, .. } => {
                // The released file may be one that is still being compiled.
                let is_open = self.starting && matches!(rejected.error, LoadError::VersionTaken { .. });
                let is_it = |info: &&ModelInfo| !is_open && (info.kind, &info.version) == (kind, version);
                let info = rejected.info.as_ref().filter(is_it)?;
                Some((info.version.clone(), rejected.error.to_string()))
            }
            LoadOutcome::Loaded(_) => None,
        };
        match self.files.values().find_map(of_it) {
            Some((version, why)) => RoleError::NotLoaded { kind, version, why },
            None if self.starting => RoleError::Starting { kind, version: version.clone() },
            None => {
                let loaded = self.of(kind).map(|entry| entry.model.version().to_string()).collect();
                RoleError::Unknown { kind, version: version.clone(), loaded }
            }
        }
    }

    /// The latest earlier champion that is in service.
    pub(crate) fn before(&self, kind: ModelKind) -> Option<ModelVersion> {
        let champion = self.roles.champion(kind).cloned();
        let fit = |version: &ModelVersion| self.in_service(kind, version).is_ok();
        self.roles
            .of(kind)
            .previous
            .into_iter()
            .rev()
            .find(|version| Some(version) != champion.as_ref() && fit(version))
    }

    /// Takes a failing champion out of service if another version can replace it. Returns the new champion.
    pub(crate) fn replace_champion(
        &mut self,
        kind: ModelKind,
        version: &ModelVersion,
        reason: Reason,
    ) -> Option<ModelVersion> {
        let before = self.roles.of(kind).previous;
        let fit = |version: &ModelVersion| {
            self.models.get(&(kind, version.clone())).is_some_and(|entry| entry.out_of_service.is_none())
        };
        let successor = before.iter().rev().find(|previous| *previous != version && fit(previous)).cloned();
        let successor =
            successor.or_else(|| self.instead_of(kind, version).map(|entry| entry.model.version().clone()))?;
        self.models.get_mut(&(kind, version.clone()))?.out_of_service = Some(reason);
        self.roles.roll_back(kind, &successor);
        Some(successor)
    }

    /// Replaces a champion that is out of service: another host may have stored roles before this could be stored.
    pub(crate) fn replace_failed_champion(&mut self, kind: ModelKind) {
        let Some(version) = self.roles.champion(kind).cloned() else { return };
        let entry = self.models.get(&(kind, version.clone()));
        if let Some(reason) = entry.and_then(|entry| entry.out_of_service.clone()) {
            self.replace_champion(kind, &version, reason);
        }
    }

    /// The files that contain the bytes of `key`.
    pub(crate) fn files_of(&self, key: &FileKey) -> Vec<String> {
        let holds = |file: &ShelfFile| matches!(&file.outcome, LoadOutcome::Loaded(loaded) if loaded == key);
        self.files.iter().filter(|(_, file)| holds(file)).map(|(name, _)| name.clone()).collect()
    }

    /// Why a file with this digest cannot be loaded as `key`; `None` if it can.
    pub(crate) fn taken(&self, key: &FileKey, digest: Digest) -> Option<LoadError> {
        let loaded = self.models.get(key).map(|entry| entry.model.digest());
        let released = self.released.get(key).copied().or(loaded).filter(|released| *released != digest)?;
        Some(LoadError::VersionTaken { kind: key.0, version: key.1.clone(), digest, released })
    }

    /// Replaces the digests of the versions with a role. Files that were rejected because of another digest are read
    /// again at the next scan.
    pub(crate) fn release(&mut self, released: Released) {
        let before = std::mem::replace(&mut self.released, released);
        let changed = before.into_iter().filter(|(key, digest)| self.released.get(key) != Some(digest));
        let changed: Vec<FileKey> = changed.map(|(key, _)| key).collect();
        changed.iter().for_each(|key| self.reread(key));
    }

    /// Removes the models whose version was released with other bytes. Their files are read again at the next scan,
    /// which lists them with this reason. Returns whether there were any.
    pub(crate) fn unload_changed(&mut self) -> bool {
        let is_changed = |(key, entry): &(&FileKey, &ShelfEntry)| self.taken(key, entry.model.digest()).is_some();
        let changed: Vec<FileKey> = self.models.iter().filter(is_changed).map(|(key, _)| key.clone()).collect();
        for key in &changed {
            let (kind, version) = key;
            tracing::error!(%kind, %version, "model unloaded: its version was released with other bytes");
            self.withdraw(key);
            self.files.retain(|_, file| !matches!(&file.outcome, LoadOutcome::Loaded(loaded) if loaded == key));
        }
        !changed.is_empty()
    }

    /// Removes `key`. Files that were rejected because of its version are read again at the next scan.
    pub(crate) fn withdraw(&mut self, key: &FileKey) {
        if let Some(entry) = self.models.remove(key) {
            price::publish(&entry.model, false);
        }
        self.reread(key);
    }

    /// Lets the next scan read the files again that were rejected because of the version of `key`.
    fn reread(&mut self, key: &FileKey) {
        let rejected_for_it = |file: &ShelfFile| {
            let LoadOutcome::Failed { rejected, .. } = &file.outcome else { return false };
            matches!(
                &rejected.error,
                LoadError::VersionTaken { kind, version, .. } if (kind, version) == (&key.0, &key.1)
            )
        };
        self.files.retain(|_, file| !rejected_for_it(file));
    }

    /// Removes every model whose file is gone, except those that answer, which stay in memory with a reason. Returns
    /// the removed models.
    pub(crate) fn sweep(&mut self) -> Vec<FileKey> {
        let has_file = |key: &FileKey| {
            self.files.values().any(|file| match &file.outcome {
                LoadOutcome::Loaded(loaded) => loaded == key,
                LoadOutcome::Failed { replaced, .. } => replaced.as_ref() == Some(key),
            })
        };
        let without_file: Vec<FileKey> = self.models.keys().filter(|key| !has_file(key)).cloned().collect();
        let (kept, gone): (Vec<FileKey>, Vec<FileKey>) =
            without_file.into_iter().partition(|key| self.is_champion(key) || self.is_in_split(key));
        gone.iter().for_each(|key| self.withdraw(key));
        for (key, entry) in &mut self.models {
            entry.orphaned = kept.contains(key).then(|| Reason {
                code: "file_gone",
                message: "its file is gone from the shelf: it answers from memory, and is removed once another \
                          version answers in its place"
                    .to_owned(),
            });
        }
        gone
    }

    pub(crate) fn active(&self) -> ActiveModels {
        let models = |kind| {
            let champion = self.champion(kind).map(|entry| Arc::clone(&entry.model));
            let in_service =
                |version: &ModelVersion| self.in_service(kind, version).map(|entry| Arc::clone(&entry.model));
            let is_champion =
                |model: &Arc<Model>| champion.as_ref().is_some_and(|champion| Arc::ptr_eq(champion, model));
            // The shadow measures what has a share, too.
            let (split, challengers) = (self.roles.of(kind).split, self.roles.challengers(kind));
            let shares = split.shares.iter().map(|share| &share.version);
            let shares = shares.filter(|version| !challengers.contains(version));
            let challengers = challengers.iter().chain(shares).filter_map(|version| in_service(version).ok());
            KindModels {
                challengers: challengers.filter(|model| !is_champion(model)).collect(),
                loaded: self.of(kind).map(|entry| Arc::clone(&entry.model)).collect(),
                split: ActiveSplit::new(split.clone(), in_service),
                champion: champion.clone(),
            }
        };
        ActiveModels { kinds: ModelKind::ALL.into_iter().map(|kind| (kind, models(kind))).collect() }
    }
}
