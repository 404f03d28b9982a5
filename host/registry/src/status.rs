//! What is said about each model, and about each file that did not become one.

use crate::{
    LoadError,
    book::{Book, Entry, File, Outcome},
};
use assay_domain::{Digest, ModelInfo, ModelKind, Time};

/// One line of the list of models.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelStatus {
    pub state: State,
    pub role: Role,
    /// What the component says of itself; `None` where it never got so far.
    pub info: Option<ModelInfo>,
    /// `None` of a file that could not be read.
    pub digest: Option<Digest>,
    /// Why it is not simply ready.
    pub reason: Option<Reason>,
    /// The file it came from, without its folder; `None` where that is gone.
    pub file: Option<String>,
    pub loaded_at: Option<Time>,
    /// Calls since it was loaded.
    pub calls: u64,
    /// Calls that failed by the model's fault.
    pub failures: u64,
}

/// How a model stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Loaded, and may answer.
    Ready,
    /// Loaded, and taken out of service after failing.
    Benched,
    /// Not loaded: the reason says what is wrong with the file.
    Failed,
}

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Champion,
    Challenger,
    Available,
    /// Not loaded.
    None,
}

/// A stable code and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub code: &'static str,
    pub message: String,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Benched => "benched",
            Self::Failed => "failed",
        }
    }
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Champion => "champion",
            Self::Challenger => "challenger",
            Self::Available => "available",
            Self::None => "none",
        }
    }
}

impl From<&LoadError> for Reason {
    fn from(error: &LoadError) -> Self {
        Self { code: error.code(), message: error.to_string() }
    }
}

/// Models by kind and version, then the files that failed.
pub(crate) fn list(book: &Book) -> Vec<ModelStatus> {
    let loaded = ModelKind::ALL.into_iter().flat_map(|kind| book.of(kind)).map(|entry| loaded(book, entry));
    let failed = book.files.iter().filter_map(|(name, file)| failed(name, file));
    loaded.chain(failed).collect()
}

fn loaded(book: &Book, entry: &Entry) -> ModelStatus {
    let model = &entry.model;
    let key = (model.kind(), model.version().clone());
    let (calls, failures) = model.calls();
    let role = if book.is_champion(&key) {
        Role::Champion
    } else if book.roles.challengers(key.0).contains(&key.1) {
        Role::Challenger
    } else {
        Role::Available
    };
    ModelStatus {
        state: if entry.benched.is_some() { State::Benched } else { State::Ready },
        role,
        info: Some(model.info().clone()),
        digest: Some(model.digest()),
        reason: entry.benched.clone().or_else(|| entry.orphaned.clone()),
        file: book.files_of(&key).into_iter().next(),
        loaded_at: Some(model.loaded_at),
        calls,
        failures,
    }
}

fn failed(name: &str, file: &File) -> Option<ModelStatus> {
    let Outcome::Failed { rejected, .. } = &file.outcome else { return None };
    Some(ModelStatus {
        state: State::Failed,
        role: Role::None,
        info: rejected.info.clone(),
        digest: rejected.digest,
        reason: Some((&rejected.error).into()),
        file: Some(name.to_owned()),
        loaded_at: None,
        calls: 0,
        failures: 0,
    })
}
