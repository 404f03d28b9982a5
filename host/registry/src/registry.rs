//! The registry: the handle to read models, change roles, and add or remove models.

use std::{
    pin::pin,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use arc_swap::Guard;
use tokio::sync::{oneshot, watch};

use crate::{
    ActiveModels, CheckReport, CreditModel, KindRoles, LoadError, Model, ModelStatus, OfKind, OpenError, OutOfService,
    Released, RoleError, Roles, ScoreError, Settings, Split,
    author::check::check,
    shelf::{
        background::{TaskTurn, UploadedFile},
        loader::{self, LoaderCommand},
        shared::ShelfShared,
        status,
    },
};
use assay_domain::{ModelKind, ModelRef, ModelVersion, Time};

/// The models of a host.
pub struct Registry {
    shared: Arc<ShelfShared>,
    commands: mpsc::Sender<LoaderCommand>,
    loader: Option<thread::JoinHandle<()>>,
    out_of_service: Mutex<mpsc::Receiver<OutOfService>>,
}

impl Registry {
    /// Loads the shelf, and then watches it. Without [`Settings::patient`] it waits only for small files. Compiles
    /// models, so must not run on an async thread.
    ///
    /// # Errors
    /// [`OpenError`]. A file that is not a model is not an error: [`Registry::list`] lists it.
    pub fn open(settings: Settings) -> Result<Arc<Self>, OpenError> {
        let (sender, out_of_service) = mpsc::channel();
        let shared = ShelfShared::open(settings, sender)?;
        let (commands, inbox) = mpsc::channel();
        let loader = loader::start(Arc::clone(&shared), commands.clone(), inbox).map_err(OpenError::Thread)?;
        Ok(Arc::new(Self { shared, commands, loader: Some(loader), out_of_service: Mutex::new(out_of_service) }))
    }

    /// The active models. A request takes them once; the value never changes.
    pub fn active(&self) -> Arc<ActiveModels> {
        self.shared.active()
    }

    /// Like [`Registry::active`], but cheaper, for use without an await.
    pub fn active_guard(&self) -> Guard<Arc<ActiveModels>> {
        self.shared.active_guard()
    }

    /// The champion of the kind `M`.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`].
    pub fn champion<M: OfKind>(&self) -> Result<M, ScoreError> {
        self.active_guard().champion()
    }

    /// The champion of `kind`, for callers that do not call it.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`].
    pub fn champion_of(&self, kind: ModelKind) -> Result<Arc<Model>, ScoreError> {
        self.active_guard().champion_of(kind).cloned()
    }

    /// Why no version of `kind` answers, and what to do; `None` if one does.
    pub fn vacancy(&self, kind: ModelKind) -> Option<String> {
        self.shared.catalogue().vacancy(kind)
    }

    /// The versions of the live split of `kind` that are to answer at `now` and cannot, each with its reason.
    pub fn split_gaps(&self, kind: ModelKind, now: Time) -> Vec<ScoreError> {
        self.shared.catalogue().gaps(kind, now)
    }

    /// A loaded version of the kind `M`, whatever its role.
    pub fn version<M: OfKind>(&self, version: &ModelVersion) -> Option<M> {
        self.active_guard().version(M::KIND, version).and_then(M::of)
    }

    /// Like [`Registry::version`], for callers that do not call the model.
    pub fn version_of(&self, kind: ModelKind, version: &ModelVersion) -> Option<Arc<Model>> {
        self.active_guard().version(kind, version).cloned()
    }

    /// A loaded version of the kind `M` that is in service.
    ///
    /// # Errors
    /// [`RoleError::Unknown`] with the loaded versions; [`RoleError::OutOfService`] or [`RoleError::NotLoaded`] with
    /// the reason.
    pub fn in_service<M: OfKind>(&self, version: &ModelVersion) -> Result<M, RoleError> {
        let catalogue = self.shared.catalogue();
        let entry = catalogue.in_service(M::KIND, version)?;
        M::of(&entry.model).ok_or_else(|| catalogue.absent(M::KIND, version))
    }

    /// Why a version is not in service; `None` if it is.
    pub fn check_in_service(&self, kind: ModelKind, version: &ModelVersion) -> Option<RoleError> {
        self.shared.catalogue().in_service(kind, version).err()
    }

    /// A loaded version, even if out of service.
    ///
    /// # Errors
    /// [`RoleError::Unknown`] with the loaded versions.
    pub fn loaded(&self, kind: ModelKind, version: &ModelVersion) -> Result<Arc<Model>, RoleError> {
        self.shared.catalogue().entry(kind, version).map(|entry| Arc::clone(&entry.model))
    }

    /// Models that went out of service since the last call. [`Registry::watch_roles`] signals that there are some.
    pub fn out_of_service(&self) -> Vec<OutOfService> {
        self.out_of_service.lock().unwrap_or_else(PoisonError::into_inner).try_iter().collect()
    }

    /// The same model on the shadow engine, which meters fuel and shares no instances with the serving engines. The
    /// first call compiles it, so must not run on an async thread.
    ///
    /// # Errors
    /// Its file is gone from the shelf, or this machine has no room for another engine.
    pub fn shadow_copy(&self, model: &CreditModel) -> Result<CreditModel, String> {
        let copy = self.shared.shadow_copy(model)?;
        CreditModel::of(&copy).ok_or_else(|| "it is not a credit model".to_owned())
    }

    /// Every model, and every file that did not load.
    pub fn list(&self) -> Vec<ModelStatus> {
        status::list(&self.shared.catalogue())
    }

    /// The current roles, to be stored.
    pub fn roles(&self) -> Roles {
        self.shared.roles().borrow().clone()
    }

    /// Signals every change of roles, including automatic ones: the first champion, and a return to an earlier
    /// champion. The owner of the stored roles saves each change.
    pub fn watch_roles(&self) -> watch::Receiver<Roles> {
        self.shared.roles()
    }

    /// The roles of `kind` with `version` as champion. They take effect only by [`Registry::assign`].
    ///
    /// # Errors
    /// [`RoleError::Unknown`].
    pub fn with_champion(&self, kind: ModelKind, version: &ModelVersion) -> Result<KindRoles, RoleError> {
        let mut catalogue = self.shared.catalogue();
        catalogue.entry(kind, version)?;
        let mut roles = catalogue.roles.clone();
        roles.promote(kind, version);
        Ok(roles.of(kind))
    }

    /// The roles of `kind` after a rollback: the latest earlier champion that may answer is champion, and the current
    /// one is not remembered.
    ///
    /// # Errors
    /// [`RoleError::NoPrevious`].
    pub fn with_previous(&self, kind: ModelKind) -> Result<KindRoles, RoleError> {
        let catalogue = self.shared.catalogue();
        let version = catalogue.before(kind).ok_or(RoleError::NoPrevious(kind))?;
        let mut roles = catalogue.roles.clone();
        roles.roll_back(kind, &version);
        Ok(roles.of(kind))
    }

    /// The earlier champion of `kind` that a rollback would bring back; `None` if there is none.
    pub fn previous(&self, kind: ModelKind) -> Option<ModelRef> {
        let version = self.shared.catalogue().before(kind)?;
        self.loaded(kind, &version).ok().map(|model| model.reference().clone())
    }

    /// The roles of `kind` with these challengers instead of the current ones.
    ///
    /// # Errors
    /// [`RoleError::Unknown`], [`RoleError::ChallengesItself`].
    pub fn with_challengers(&self, kind: ModelKind, versions: &[ModelVersion]) -> Result<KindRoles, RoleError> {
        let mut catalogue = self.shared.catalogue();
        catalogue.may_challenge(kind, versions)?;
        let mut roles = catalogue.roles.clone();
        roles.set_challengers(kind, versions);
        Ok(roles.of(kind))
    }

    /// The roles of `kind` with this split, whose versions are all loaded and in service, and have a share only beside
    /// the champion.
    ///
    /// # Errors
    /// [`RoleError`].
    pub fn with_split(&self, kind: ModelKind, split: Split) -> Result<KindRoles, RoleError> {
        let mut catalogue = self.shared.catalogue();
        let shared: Vec<_> = split.shares.iter().map(|share| share.version.clone()).collect();
        catalogue.may_challenge(kind, &shared)?;
        for version in split.versions() {
            catalogue.in_service(kind, version)?;
        }
        Ok(KindRoles { split, ..catalogue.roles.of(kind) })
    }

    /// Puts the roles of `kind` into effect; they may name absent versions. The versions in `again` return to service
    /// if they were out of service. A champion that is still out of service is replaced.
    pub fn assign(&self, kind: ModelKind, roles: KindRoles, again: &[ModelVersion], cause: &'static str) {
        let mut catalogue = self.shared.catalogue();
        for version in again {
            if let Ok(entry) = catalogue.entry(kind, version) {
                entry.out_of_service = None;
                entry.model.tally.reset();
            }
        }
        catalogue.roles.set(kind, roles);
        catalogue.replace_failed_champion(kind);
        self.shared.publish(&mut catalogue, cause);
    }

    /// Sets the digests of the versions with a role, as stored. A model with other bytes is unloaded.
    pub fn release(&self, released: &Released) {
        let mut catalogue = self.shared.catalogue();
        if catalogue.released == *released {
            return;
        }
        catalogue.release(released.clone());
        if self.shared.publish(&mut catalogue, "restore") {
            // A registry that is shutting down needs no scan.
            let _ = self.commands.send(LoaderCommand::Changed);
        }
    }

    /// Checks that a version is loaded and answers no requests.
    ///
    /// # Errors
    /// [`RoleError::Unknown`], [`RoleError::IsChampion`], [`RoleError::InSplit`].
    pub fn may_remove(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), RoleError> {
        self.shared.catalogue().may_remove(&(kind, version.clone()))
    }

    /// Makes a loaded version champion at once, for a registry whose roles are not stored.
    ///
    /// # Errors
    /// Those of [`Registry::with_champion`].
    pub fn set_champion(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), RoleError> {
        let roles = self.with_champion(kind, version)?;
        self.assign(kind, roles, std::slice::from_ref(version), "operator");
        Ok(())
    }

    /// Makes loaded versions challengers at once, for a registry whose roles are not stored.
    ///
    /// # Errors
    /// Those of [`Registry::with_challengers`].
    pub fn set_challengers(&self, kind: ModelKind, versions: &[ModelVersion]) -> Result<(), RoleError> {
        let roles = self.with_challengers(kind, versions)?;
        self.assign(kind, roles, versions, "operator");
        Ok(())
    }

    /// Checks a component, writes it to the shelf, and publishes it.
    ///
    /// # Errors
    /// The first problem; the shelf does not change.
    pub async fn add(&self, bytes: Vec<u8>) -> Result<ModelRef, LoadError> {
        let upload = |reply| LoaderCommand::Add(bytes, UploadedFile { reply, turn: TaskTurn::default() });
        self.ask(upload).await.unwrap_or(Err(LoadError::Closed))
    }

    /// Like [`Registry::add`], if the check begins within `patience`.
    ///
    /// # Errors
    /// Those of [`Registry::add`], or [`LoadError::Busy`].
    pub async fn add_within(&self, bytes: Vec<u8>, patience: Duration) -> Result<ModelRef, LoadError> {
        let turn = TaskTurn::default();
        let upload = |reply| LoaderCommand::Add(bytes, UploadedFile { reply, turn: turn.clone() });
        let mut added = pin!(self.ask(upload));
        let answer = match tokio::time::timeout(patience, &mut added).await {
            Ok(answer) => answer,
            Err(_) if turn.take() => return Err(LoadError::Busy),
            Err(_) => added.await,
        };
        answer.unwrap_or(Err(LoadError::Closed))
    }

    /// The result that [`Registry::add`] would have for `bytes`, with every problem and the cost of calls. The shelf
    /// does not change. Compiles and measures, so must not run on an async thread.
    ///
    /// # Errors
    /// If this machine cannot run models at all.
    pub fn check(&self, bytes: &[u8]) -> Result<CheckReport, OpenError> {
        let mut report = check(bytes, &self.shared.settings.limits)?;
        let key = report.model.as_ref().map(|info| (info.kind, info.version.clone()));
        let taken = key.and_then(|key| self.shared.catalogue().taken(&key, report.digest));
        if let Some(error) = taken {
            report.problems.push((&error).into());
            report.ok = false;
        }
        Ok(report)
    }

    /// Removes a version and its file. Its running calls finish.
    ///
    /// # Errors
    /// The errors of [`Registry::may_remove`], and [`RoleError::Delete`] if the file cannot be deleted.
    pub async fn remove(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), RoleError> {
        self.ask(|reply| LoaderCommand::Remove((kind, version.clone()), reply)).await.unwrap_or(Err(RoleError::Closed))
    }

    /// Reads the shelf now. Returns when every file is loaded or listed with its error.
    pub async fn rescan(&self) {
        // A registry that is shutting down needs no scan.
        let _ = self.ask(LoaderCommand::Rescan).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> LoaderCommand) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).ok()?;
        answer.await.ok()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.commands.send(LoaderCommand::Stop);
        if let Some(loader) = self.loader.take() {
            let _ = loader.join();
        }
    }
}
