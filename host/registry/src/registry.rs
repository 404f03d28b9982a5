//! The registry itself: the lineup in force, the roles, and the handle through which models come and go.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc},
    thread,
};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::{oneshot, watch};

use crate::{
    Benching, KindRoles, Lineup, LoadError, Model, ModelStatus, RoleError, Roles, ScoreError, Settings,
    book::Book,
    compiled::Compiled,
    engine::{Purpose, Runtime},
    loader::{self, Command},
    shelf::Shelf,
    status,
    twins::Twins,
};
use assay_domain::{ModelKind, ModelRef, ModelVersion};

/// Why there is no registry.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("this machine cannot run models: {0}")]
    Engine(String),
    #[error("the shelf {folder} cannot be read: {reason}. Set models.shelf to a folder that this user may read")]
    Shelf { folder: PathBuf, reason: io::Error },
    #[error("compiled models cannot be kept in {folder}: {reason}")]
    Compiled { folder: PathBuf, reason: io::Error },
    #[error("no thread for loading models: {0}")]
    Thread(io::Error),
}

/// The models of a host.
pub struct Registry {
    shared: Arc<Shared>,
    commands: mpsc::Sender<Command>,
    loader: Option<thread::JoinHandle<()>>,
    benched: Mutex<mpsc::Receiver<Benching>>,
}

/// What requests, role moves and the loader share.
pub(crate) struct Shared {
    pub settings: Settings,
    pub runtime: Arc<Runtime>,
    pub shelf: Shelf,
    pub compiled: Option<Compiled>,
    pub this: Weak<Self>,
    book: Mutex<Book>,
    lineup: ArcSwap<Lineup>,
    roles: watch::Sender<Roles>,
    pub benchings: mpsc::Sender<Benching>,
    pub twins: Twins,
}

impl Registry {
    /// Loads the shelf, and from then on follows it. Takes as long as compiling every model does, so not on an async
    /// thread.
    ///
    /// # Errors
    /// [`OpenError`]. A file that is no model is none: it stands in [`Registry::list`].
    pub fn open(settings: Settings) -> Result<Arc<Self>, OpenError> {
        let runtime =
            Runtime::new(&settings.limits, Purpose::SERVE).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
        if let Some(reason) = &runtime.without_pool {
            tracing::warn!(reason, "no room for a pool of model instances: calls will be slower");
        }
        let shelf_error = |reason| OpenError::Shelf { folder: settings.shelf.clone(), reason };
        std::fs::create_dir_all(&settings.shelf).map_err(shelf_error)?;
        let shelf = Shelf { folder: settings.shelf.clone() };
        shelf.files().map_err(shelf_error)?;
        let compiled = match &settings.compiled {
            None => None,
            Some(folder) => {
                Some(Compiled::open(folder).map_err(|reason| OpenError::Compiled { folder: folder.clone(), reason })?)
            }
        };
        let (benchings, benched) = mpsc::channel();
        let shared = Arc::new_cyclic(|this| Shared {
            runtime: Arc::new(runtime),
            shelf,
            compiled,
            this: Weak::clone(this),
            book: Mutex::new(Book { roles: settings.roles.clone(), ..Book::default() }),
            lineup: ArcSwap::default(),
            roles: watch::Sender::new(settings.roles.clone()),
            benchings,
            twins: Twins::new(&settings.limits),
            settings,
        });
        let (commands, inbox) = mpsc::channel();
        let loader = loader::start(Arc::clone(&shared), commands.clone(), inbox).map_err(OpenError::Thread)?;
        Ok(Arc::new(Self { shared, commands, loader: Some(loader), benched: Mutex::new(benched) }))
    }

    /// The models in force now. Take it once per request and keep it: what it holds never changes.
    pub fn lineup(&self) -> Arc<Lineup> {
        self.shared.lineup.load_full()
    }

    /// As [`Registry::lineup`], for a look that is over before the next await.
    pub fn glance(&self) -> Guard<Arc<Lineup>> {
        self.shared.lineup.load()
    }

    /// The champion of `kind`.
    ///
    /// # Errors
    /// [`ScoreError::NoChampion`].
    pub fn champion(&self, kind: ModelKind) -> Result<Arc<Model>, ScoreError> {
        self.glance().champion(kind).cloned()
    }

    /// A loaded version, whatever its role.
    pub fn version(&self, kind: ModelKind, version: &ModelVersion) -> Option<Arc<Model>> {
        self.glance().version(kind, version).cloned()
    }

    /// A loaded version that may answer.
    ///
    /// # Errors
    /// [`RoleError::Unknown`] with the versions there are; [`RoleError::Benched`] or [`RoleError::NotLoaded`] with the
    /// reason.
    pub fn in_service(&self, kind: ModelKind, version: &ModelVersion) -> Result<Arc<Model>, RoleError> {
        self.shared.book().in_service(kind, version).map(|entry| Arc::clone(&entry.model))
    }

    /// A loaded version, whether or not it may answer.
    ///
    /// # Errors
    /// [`RoleError::Unknown`] with the versions there are.
    pub fn loaded(&self, kind: ModelKind, version: &ModelVersion) -> Result<Arc<Model>, RoleError> {
        self.shared.book().entry(kind, version).map(|entry| Arc::clone(&entry.model))
    }

    /// Models that were taken out of service since this was last asked. [`Registry::watch_roles`] tells when to ask.
    pub fn benchings(&self) -> Vec<Benching> {
        self.benched.lock().unwrap_or_else(PoisonError::into_inner).try_iter().collect()
    }

    /// The same model on an engine apart, where calls cost no seat that an answer needs and are counted in fuel.
    /// Compiles it the first time, so not on an async thread.
    ///
    /// # Errors
    /// Why there is none: its file is gone from the shelf, or this machine has no room for another engine.
    pub fn twin(&self, model: &Model) -> Result<Arc<Model>, String> {
        self.shared.twin(model)
    }

    /// Every model, and every file that did not become one.
    pub fn list(&self) -> Vec<ModelStatus> {
        status::list(&self.shared.book())
    }

    /// The roles as they are to be remembered.
    pub fn roles(&self) -> Roles {
        self.shared.roles.borrow().clone()
    }

    /// Tells of every change of the roles, also of those that nobody asked for: the first champion, and an automatic
    /// return. Whoever keeps the roles writes down what this says.
    pub fn watch_roles(&self) -> watch::Receiver<Roles> {
        self.shared.roles.subscribe()
    }

    /// The roles of `kind` with `version` as champion. Nothing changes before [`Registry::assign`].
    ///
    /// # Errors
    /// [`RoleError::Unknown`].
    pub fn with_champion(&self, kind: ModelKind, version: &ModelVersion) -> Result<KindRoles, RoleError> {
        let mut book = self.shared.book();
        book.entry(kind, version)?;
        let mut roles = book.roles.clone();
        roles.promote(kind, version);
        Ok(roles.of(kind))
    }

    /// The roles of `kind` after a rollback: the latest earlier champion that may answer is champion, and the current
    /// one is not remembered.
    ///
    /// # Errors
    /// [`RoleError::NoPrevious`].
    pub fn with_previous(&self, kind: ModelKind) -> Result<KindRoles, RoleError> {
        let book = self.shared.book();
        let version = book.before(kind).ok_or(RoleError::NoPrevious(kind))?;
        let mut roles = book.roles.clone();
        roles.give_back(kind, &version);
        Ok(roles.of(kind))
    }

    /// The roles of `kind` with these challengers, instead of those before.
    ///
    /// # Errors
    /// [`RoleError::Unknown`], [`RoleError::ChallengesItself`].
    pub fn with_challengers(&self, kind: ModelKind, versions: &[ModelVersion]) -> Result<KindRoles, RoleError> {
        let mut book = self.shared.book();
        book.may_challenge(kind, versions)?;
        let mut roles = book.roles.clone();
        roles.set_challengers(kind, versions);
        Ok(roles.of(kind))
    }

    /// Puts the roles of `kind` in force as they are; they may name absent versions. The versions in `again` get
    /// another chance where they were out of service.
    pub fn assign(&self, kind: ModelKind, roles: KindRoles, again: &[ModelVersion], cause: &'static str) {
        let mut book = self.shared.book();
        for version in again {
            if let Ok(entry) = book.entry(kind, version) {
                entry.benched = None;
                entry.model.tally.forgive();
            }
        }
        book.roles.set(kind, roles);
        self.shared.publish(&mut book, cause);
    }

    /// Makes a loaded version champion at once, for a registry whose roles are not stored.
    ///
    /// # Errors
    /// As [`Registry::with_champion`].
    pub fn set_champion(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), RoleError> {
        let roles = self.with_champion(kind, version)?;
        self.assign(kind, roles, std::slice::from_ref(version), "operator");
        Ok(())
    }

    /// Makes loaded versions challengers at once, for a registry whose roles are not stored.
    ///
    /// # Errors
    /// As [`Registry::with_challengers`].
    pub fn set_challengers(&self, kind: ModelKind, versions: &[ModelVersion]) -> Result<(), RoleError> {
        let roles = self.with_challengers(kind, versions)?;
        self.assign(kind, roles, versions, "operator");
        Ok(())
    }

    /// Checks a component, puts it on the shelf, and publishes it.
    ///
    /// # Errors
    /// The first thing that is wrong with it; the shelf is then as it was.
    pub async fn add(&self, bytes: Vec<u8>) -> Result<ModelRef, LoadError> {
        self.ask(|reply| Command::Add(bytes, reply)).await.unwrap_or(Err(LoadError::Closed))
    }

    /// Takes a version off the shelf, its file included. Calls in flight finish on it.
    ///
    /// # Errors
    /// [`RoleError::IsChampion`], [`RoleError::Unknown`], [`RoleError::Delete`].
    pub async fn remove(&self, kind: ModelKind, version: &ModelVersion) -> Result<(), RoleError> {
        self.ask(|reply| Command::Remove((kind, version.clone()), reply)).await.unwrap_or(Err(RoleError::Closed))
    }

    /// Looks at the shelf now; done when everything on it is loaded or listed with its reason.
    pub async fn rescan(&self) {
        // A registry that is closing has nothing to look for.
        let _ = self.ask(Command::Rescan).await;
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).ok()?;
        answer.await.ok()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.commands.send(Command::Stop);
        if let Some(loader) = self.loader.take() {
            let _ = loader.join();
        }
    }
}

impl Shared {
    pub fn book(&self) -> MutexGuard<'_, Book> {
        // Every change of the book is made by code that does not panic; should one, the book is still whole.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts what the book says in force by one pointer store. Returns whether a file may now be loaded that could not
    /// be before.
    pub fn publish(&self, book: &mut Book, cause: &'static str) -> bool {
        book.fill_vacancies();
        let withdrawn = book.sweep();
        for (kind, version) in &withdrawn {
            tracing::info!(%kind, %version, "model withdrawn: its file is gone");
        }
        let lineup = Arc::new(book.lineup());
        let before = self.lineup.swap(Arc::clone(&lineup));
        self.twins.keep(|digest| {
            ModelKind::ALL.into_iter().any(|kind| lineup.loaded(kind).iter().any(|model| model.digest() == digest))
        });
        for kind in ModelKind::ALL {
            metrics::gauge!("assay_models_loaded", "kind" => kind.as_str()).set(lineup.loaded(kind).len() as f64);
            let (old, new) = (before.champion(kind).ok(), lineup.champion(kind).ok());
            if old.map(|model| model.reference()) != new.map(|model| model.reference()) {
                metrics::counter!("assay_model_swaps_total", "kind" => kind.as_str(), "cause" => cause).increment(1);
                let version = |model: Option<&Arc<Model>>| {
                    model.map_or_else(|| "none".to_owned(), |model| model.version().to_string())
                };
                tracing::info!(%kind, from = version(old), to = version(new), cause, "champion");
            }
        }
        // Who keeps the roles is told of a benching too, which may move none.
        let told = cause == "failures";
        self.roles.send_if_modified(|roles| {
            let changed = *roles != book.roles;
            if changed {
                roles.clone_from(&book.roles);
            }
            changed || told
        });
        !withdrawn.is_empty()
    }

    fn twin(&self, model: &Model) -> Result<Arc<Model>, String> {
        self.twins.of(model, self.compiled.as_ref(), || {
            let files = self.book().files_of(&(model.kind(), model.version().clone()));
            let read = |name: &String| self.shelf.read(name, self.settings.limits.file).ok();
            files.iter().find_map(read).ok_or_else(|| "its file is gone from the shelf".to_owned())
        })
    }
}
