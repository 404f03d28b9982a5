//! The list of models, and of files that did not load.

use std::sync::Arc;

use super::catalogue::{Catalogue, LoadOutcome, ShelfEntry, ShelfFile};
use crate::{LoadError, Price, Reason};
use assay_domain::{Digest, ModelInfo, ModelKind, Time};

/// One entry of the list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStatus {
    pub state: State,
    pub role: Role,
    /// The model's own description; `None` if `describe` was not reached.
    pub info: Option<ModelInfo>,
    /// `None` for an unreadable file.
    pub digest: Option<Digest>,
    /// The card that its author packed, in TOML.
    pub card: Option<Arc<str>>,
    /// Why it is not ready.
    pub reason: Option<Reason>,
    /// The name of its file; `None` if the file is gone.
    pub file: Option<String>,
    pub loaded_at: Option<Time>,
    /// Its class and cost; `None` if it is not loaded.
    pub price: Option<Price>,
    /// Calls since it was loaded.
    pub calls: u64,
    /// Calls that the model failed.
    pub failures: u64,
}

/// Whether a model is loaded and in service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Loaded and in service.
    Ready,
    /// Loaded, but out of service after failures.
    OutOfService,
    /// Not loaded yet; it is being compiled in the background.
    Compiling,
    /// Not loaded; the reason is the error of the file.
    Failed,
}

/// The role of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Champion,
    /// It answers a share of the wallets, or a key.
    Split,
    Challenger,
    Available,
    /// Not loaded.
    None,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::OutOfService => "benched",
            Self::Compiling => "compiling",
            Self::Failed => "failed",
        }
    }
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Champion => "champion",
            Self::Split => "split",
            Self::Challenger => "challenger",
            Self::Available => "available",
            Self::None => "none",
        }
    }
}

/// Models by kind and version, then the files that failed.
pub(crate) fn list(catalogue: &Catalogue) -> Vec<ModelStatus> {
    let loaded = ModelKind::ALL.into_iter().flat_map(|kind| catalogue.of(kind)).map(|entry| loaded(catalogue, entry));
    let failed = catalogue.files.iter().filter_map(|(name, file)| failed(name, file));
    loaded.chain(failed).collect()
}

fn loaded(catalogue: &Catalogue, entry: &ShelfEntry) -> ModelStatus {
    let model = &entry.model;
    let key = (model.kind(), model.version().clone());
    let (calls, failures) = model.calls();
    let role = if catalogue.is_champion(&key) {
        Role::Champion
    } else if catalogue.is_in_split(&key) {
        Role::Split
    } else if catalogue.roles.challengers(key.0).contains(&key.1) {
        Role::Challenger
    } else {
        Role::Available
    };
    ModelStatus {
        state: if entry.out_of_service.is_some() { State::OutOfService } else { State::Ready },
        role,
        info: Some(model.info().clone()),
        digest: Some(model.digest()),
        card: model.notes().card.clone(),
        reason: entry.out_of_service.clone().or_else(|| entry.orphaned.clone()),
        file: catalogue.files_of(&key).into_iter().next(),
        loaded_at: Some(model.loaded_at),
        price: Some(model.price()),
        calls,
        failures,
    }
}

fn failed(name: &str, file: &ShelfFile) -> Option<ModelStatus> {
    let LoadOutcome::Failed { rejected, .. } = &file.outcome else { return None };
    Some(ModelStatus {
        state: if rejected.error == LoadError::Compiling { State::Compiling } else { State::Failed },
        role: Role::None,
        info: rejected.info.clone(),
        digest: rejected.digest,
        card: None,
        reason: Some((&rejected.error).into()),
        file: Some(name.to_owned()),
        loaded_at: None,
        price: None,
        calls: 0,
        failures: 0,
    })
}
