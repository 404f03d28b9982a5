//! The state shared by requests, role changes and the loader: the catalogue, and the active models derived from it.

use std::{
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc},
};

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;

use super::{
    ShelfFolder, attempts::LoadAttempt, catalogue::Catalogue, rejections::Rejections, shadow_engine::ShadowEngine,
};
use crate::{
    ActiveModels, LoadError, Model, OpenError, OutOfService, Roles, Settings,
    compile::compiled::Compiled,
    confine::{engine::Purpose, engines::Engines},
    examine::{self, Examined},
};
use assay_domain::{Digest, ModelKind};

pub(crate) struct ShelfShared {
    pub settings: Settings,
    pub engines: Engines,
    pub shelf: ShelfFolder,
    pub compiled: Option<Compiled>,
    rejections: Option<Rejections>,
    pub this: Weak<Self>,
    catalogue: Mutex<Catalogue>,
    active: ArcSwap<ActiveModels>,
    roles: watch::Sender<Roles>,
    pub out_of_service: mpsc::Sender<OutOfService>,
    shadow_engine: ShadowEngine,
}

impl ShelfShared {
    /// Models that go out of service are sent to `out_of_service`.
    pub(crate) fn open(settings: Settings, out_of_service: mpsc::Sender<OutOfService>) -> Result<Arc<Self>, OpenError> {
        let engines =
            Engines::new(&settings.limits, Purpose::SERVE).map_err(|error| OpenError::Engine(format!("{error:#}")))?;
        let shelf_error = |reason| OpenError::Shelf { folder: settings.shelf.clone(), reason };
        std::fs::create_dir_all(&settings.shelf).map_err(shelf_error)?;
        let shelf = ShelfFolder { folder: settings.shelf.clone() };
        shelf.files().map_err(shelf_error)?;
        let open = |folder: &PathBuf| {
            Compiled::open(folder).map_err(|reason| OpenError::Compiled { folder: folder.clone(), reason })
        };
        let compiled = settings.compiled.as_ref().map(open).transpose()?;
        let rejections = settings.attempts.as_ref().map(|folder| Rejections::open(folder, &engines));
        Ok(Arc::new_cyclic(|this| Self {
            engines,
            shelf,
            compiled,
            rejections,
            this: Weak::clone(this),
            catalogue: Mutex::new(Catalogue {
                roles: settings.roles.clone(),
                released: settings.released.clone(),
                first_champions: settings.first_champions.clone(),
                ..Catalogue::default()
            }),
            active: ArcSwap::default(),
            roles: watch::Sender::new(settings.roles.clone()),
            out_of_service,
            shadow_engine: ShadowEngine::new(&settings.limits),
            settings,
        }))
    }

    pub(crate) fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        // No change of the catalogue panics; after a panic it would still be consistent.
        self.catalogue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn active(&self) -> Arc<ActiveModels> {
        self.active.load_full()
    }

    pub(crate) fn active_guard(&self) -> Guard<Arc<ActiveModels>> {
        self.active.load()
    }

    pub(crate) fn roles(&self) -> watch::Receiver<Roles> {
        self.roles.subscribe()
    }

    /// Publishes the active models of the catalogue in one atomic store. Returns whether files are to be read again,
    /// because a model was withdrawn.
    pub(crate) fn publish(&self, catalogue: &mut Catalogue, cause: &'static str) -> bool {
        catalogue.note_start();
        let unloaded = catalogue.unload_changed();
        catalogue.fill_vacancies();
        let withdrawn = catalogue.sweep();
        for (kind, version) in &withdrawn {
            tracing::info!(%kind, %version, "model withdrawn: its file is gone");
        }
        let active = Arc::new(catalogue.active());
        let before = self.active.swap(Arc::clone(&active));
        self.shadow_engine.retain(|digest| {
            ModelKind::ALL.into_iter().any(|kind| active.loaded(kind).iter().any(|model| model.digest() == digest))
        });
        for kind in ModelKind::ALL {
            metrics::gauge!("assay_models_loaded", "kind" => kind.as_str()).set(active.loaded(kind).len() as f64);
            log_champion(kind, &before, &active, cause);
        }
        // A model may go out of service without a change of roles; receivers must be notified of that too.
        let always = cause == "failures";
        self.roles.send_if_modified(|roles| {
            let changed = *roles != catalogue.roles;
            if changed {
                roles.clone_from(&catalogue.roles);
            }
            changed || always
        });
        unloaded || !withdrawn.is_empty()
    }

    /// Whether an earlier check stored the code of a file, or the reason of its refusal.
    pub(crate) fn knows(&self, digest: &Digest) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.has(&self.engines.names, digest))
            || self.rejections.as_ref().is_some_and(|kept| kept.of(digest).is_some())
    }

    /// Examines a file, with a note that outlives this process if the file ends it.
    pub(crate) fn examine(&self, bytes: &[u8], digest: &Digest) -> Result<Examined, LoadError> {
        let compiled = self.compiled.as_ref();
        // Code in the folder was loaded before.
        let known = compiled.is_some_and(|compiled| compiled.has(&self.engines.names, digest));
        if let Some(rejected) = self.rejections.as_ref().filter(|_| !known).and_then(|kept| kept.of(digest)) {
            return Err(rejected);
        }
        let notes = self.settings.attempts.as_deref().filter(|_| !known);
        let attempt = notes.map(|folder| LoadAttempt::begin(folder, digest)).transpose()?;
        let found = panic::catch_unwind(AssertUnwindSafe(|| examine::examine(bytes, &self.engines, compiled)));
        drop(attempt);
        let found = found.map_err(|_| LoadError::Invalid("it makes the compiler fail".to_owned()))?;
        if let Some((kept, problem)) = self.rejections.as_ref().zip(found.problems.first()) {
            kept.keep(digest, problem);
        }
        Ok(found)
    }

    pub(crate) fn shadow_copy(&self, model: &Model) -> Result<Arc<Model>, String> {
        self.shadow_engine.copy_of(model, self.compiled.as_ref(), || {
            let files = self.catalogue().files_of(&(model.kind(), model.version().clone()));
            let read = |name: &String| self.shelf.read(name, self.settings.limits.largest_file()).ok();
            files.iter().find_map(read).ok_or_else(|| "its file is gone from the shelf".to_owned())
        })
    }
}

fn log_champion(kind: ModelKind, before: &ActiveModels, after: &ActiveModels, cause: &'static str) {
    let (old, new) = (before.champion_of(kind).ok(), after.champion_of(kind).ok());
    if old.map(|model| model.reference()) == new.map(|model| model.reference()) {
        return;
    }
    metrics::counter!("assay_model_swaps_total", "kind" => kind.as_str(), "cause" => cause).increment(1);
    let version =
        |model: Option<&Arc<Model>>| model.map_or_else(|| "none".to_owned(), |model| model.version().to_string());
    tracing::info!(%kind, from = version(old), to = version(new), cause, "champion");
}
