//! What is on the shelf and who plays which role: plain bookkeeping, from which a lineup is drawn.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    LoadError, Model, Reason, RoleError, Roles,
    lineup::{Lineup, Seats},
    shelf::Stamp,
};
use assay_domain::{Digest, ModelInfo, ModelKind, ModelVersion};

pub(crate) type Key = (ModelKind, ModelVersion);

#[derive(Default)]
pub(crate) struct Book {
    pub files: BTreeMap<String, File>,
    pub models: BTreeMap<Key, Entry>,
    pub roles: Roles,
}

/// One file of the shelf, as it was last looked at.
pub(crate) struct File {
    pub stamp: Stamp,
    pub outcome: Outcome,
}

pub(crate) enum Outcome {
    Loaded(Key),
    Failed {
        rejected: Box<Rejected>,
        /// The model whose file this was before: a bad file changes nothing, so it stays.
        replaced: Option<Key>,
    },
}

/// A file that became no model.
pub(crate) struct Rejected {
    /// `None` where not even its bytes could be read.
    pub digest: Option<Digest>,
    /// Who it says it is, where it got so far.
    pub info: Option<ModelInfo>,
    pub error: LoadError,
}

/// One loaded version.
pub(crate) struct Entry {
    pub model: Arc<Model>,
    /// Why it may not answer although it is loaded.
    pub benched: Option<Reason>,
    /// Why it is still here although its file is not.
    pub orphaned: Option<Reason>,
}

impl Book {
    /// Who answers for `kind`: the champion by role, or the highest healthy version while that one is absent.
    pub fn champion(&self, kind: ModelKind) -> Option<&Entry> {
        let by_role = self.roles.champion(kind).and_then(|version| self.models.get(&(kind, version.clone())));
        by_role.filter(|entry| entry.benched.is_none()).or_else(|| self.healthiest(kind, None))
    }

    pub fn is_champion(&self, key: &Key) -> bool {
        self.champion(key.0).is_some_and(|entry| *entry.model.version() == key.1)
    }

    /// The highest version of `kind` that may answer, `but` one.
    pub fn healthiest(&self, kind: ModelKind, but: Option<&ModelVersion>) -> Option<&Entry> {
        self.of(kind).rev().find(|entry| entry.benched.is_none() && Some(entry.model.version()) != but)
    }

    pub fn of(&self, kind: ModelKind) -> impl DoubleEndedIterator<Item = &Entry> {
        self.models.values().filter(move |entry| entry.model.kind() == kind)
    }

    /// Gives every kind that has models and no champion its highest version.
    pub fn fill_vacancies(&mut self) {
        for kind in ModelKind::ALL {
            if self.roles.champion(kind).is_none()
                && let Some(version) = self.healthiest(kind, None).map(|entry| entry.model.version().clone())
            {
                self.roles.promote(kind, &version);
            }
        }
    }

    /// The loaded version, or an error that says which there are.
    pub fn entry(&mut self, kind: ModelKind, version: &ModelVersion) -> Result<&mut Entry, RoleError> {
        let loaded = self.of(kind).map(|entry| entry.model.version().to_string()).collect();
        self.models.get_mut(&(kind, version.clone())).ok_or_else(|| RoleError::Unknown {
            kind,
            version: version.clone(),
            loaded,
        })
    }

    /// Whether all of these are loaded and none is champion.
    pub fn may_challenge(&mut self, kind: ModelKind, versions: &[ModelVersion]) -> Result<(), RoleError> {
        for version in versions {
            self.entry(kind, version)?;
            if self.is_champion(&(kind, version.clone())) {
                return Err(RoleError::ChallengesItself { kind, version: version.clone() });
            }
        }
        Ok(())
    }

    /// The loaded version, where it may answer.
    ///
    /// # Errors
    /// [`RoleError::Benched`], [`RoleError::NotLoaded`] with what is wrong with its file, or [`RoleError::Unknown`].
    pub fn in_service(&self, kind: ModelKind, version: &ModelVersion) -> Result<&Entry, RoleError> {
        let Some(entry) = self.models.get(&(kind, version.clone())) else { return Err(self.absent(kind, version)) };
        match &entry.benched {
            None => Ok(entry),
            Some(Reason { message, .. }) => {
                Err(RoleError::Benched { kind, version: version.clone(), why: message.clone() })
            }
        }
    }

    /// Why a version is not loaded: its file is no good, or there is none.
    fn absent(&self, kind: ModelKind, version: &ModelVersion) -> RoleError {
        let of_it = |file: &File| match &file.outcome {
            Outcome::Failed { rejected, .. } => {
                let info = rejected.info.as_ref().filter(|info| (info.kind, &info.version) == (kind, version))?;
                Some((info.version.clone(), rejected.error.to_string()))
            }
            Outcome::Loaded(_) => None,
        };
        match self.files.values().find_map(of_it) {
            Some((version, why)) => RoleError::NotLoaded { kind, version, why },
            None => {
                let loaded = self.of(kind).map(|entry| entry.model.version().to_string()).collect();
                RoleError::Unknown { kind, version: version.clone(), loaded }
            }
        }
    }

    /// The latest champion before this one that may answer.
    pub fn before(&self, kind: ModelKind) -> Option<ModelVersion> {
        let champion = self.roles.champion(kind).cloned();
        let fit = |version: &ModelVersion| self.in_service(kind, version).is_ok();
        self.roles
            .of(kind)
            .previous
            .into_iter()
            .rev()
            .find(|version| Some(version) != champion.as_ref() && fit(version))
    }

    /// Takes a failing champion out of service where another can answer, and says which does.
    pub fn bench(&mut self, kind: ModelKind, version: &ModelVersion, reason: Reason) -> Option<ModelVersion> {
        let before = self.roles.of(kind).previous;
        let fit = |version: &ModelVersion| {
            self.models.get(&(kind, version.clone())).is_some_and(|entry| entry.benched.is_none())
        };
        let successor = before.iter().rev().find(|previous| *previous != version && fit(previous)).cloned();
        let successor =
            successor.or_else(|| self.healthiest(kind, Some(version)).map(|entry| entry.model.version().clone()))?;
        self.models.get_mut(&(kind, version.clone()))?.benched = Some(reason);
        self.roles.give_back(kind, &successor);
        Some(successor)
    }

    /// The files that hold the bytes of `key`.
    pub fn files_of(&self, key: &Key) -> Vec<String> {
        let holds = |file: &File| matches!(&file.outcome, Outcome::Loaded(loaded) if loaded == key);
        self.files.iter().filter(|(_, file)| holds(file)).map(|(name, _)| name.clone()).collect()
    }

    /// Drops `key`, and lets files be tried again that only its version had kept out.
    pub fn withdraw(&mut self, key: &Key) {
        self.models.remove(key);
        let kept_out = |file: &File| {
            let Outcome::Failed { rejected, .. } = &file.outcome else { return false };
            matches!(&rejected.error, LoadError::VersionTaken { kind, version, .. } if (kind, version) == (&key.0, &key.1))
        };
        self.files.retain(|_, file| !kept_out(file));
    }

    /// Withdraws every model whose file is gone, but champions: they answer from memory, and say why. Returns the
    /// withdrawn.
    pub fn sweep(&mut self) -> Vec<Key> {
        let held = |key: &Key| {
            self.files.values().any(|file| match &file.outcome {
                Outcome::Loaded(loaded) => loaded == key,
                Outcome::Failed { replaced, .. } => replaced.as_ref() == Some(key),
            })
        };
        let adrift: Vec<Key> = self.models.keys().filter(|key| !held(key)).cloned().collect();
        let (kept, gone): (Vec<Key>, Vec<Key>) = adrift.into_iter().partition(|key| self.is_champion(key));
        gone.iter().for_each(|key| self.withdraw(key));
        for (key, entry) in &mut self.models {
            entry.orphaned = kept.contains(key).then(|| Reason {
                code: "file_gone",
                message: "its file is gone from the shelf: it answers from memory, and leaves when another version is champion".to_owned(),
            });
        }
        gone
    }

    pub fn lineup(&self) -> Lineup {
        let seats = |kind| {
            let champion = self.champion(kind).map(|entry| Arc::clone(&entry.model));
            let shadow = |version| {
                self.models.get(&(kind, ModelVersion::clone(version))).filter(|entry| entry.benched.is_none())
            };
            let is_champion =
                |model: &Arc<Model>| champion.as_ref().is_some_and(|champion| Arc::ptr_eq(champion, model));
            let challengers =
                self.roles.challengers(kind).iter().filter_map(shadow).map(|entry| Arc::clone(&entry.model));
            Seats {
                challengers: challengers.filter(|model| !is_champion(model)).collect(),
                loaded: self.of(kind).map(|entry| Arc::clone(&entry.model)).collect(),
                champion: champion.clone(),
            }
        };
        Lineup { kinds: ModelKind::ALL.into_iter().map(|kind| (kind, seats(kind))).collect() }
    }
}
