//! Errors of files, roles and the registry, each with a stable code and a message that says what to do.

use std::{io, path::PathBuf};

use crate::{Class, EncodeError, PublicKey, ScoreError};
use assay_domain::{Digest, ModelKind, ModelVersion};

/// Advice for the author of a file that is too large.
pub(crate) const SMALLER: &str = "Build in release mode, with lto and strip";

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

/// Why a file cannot be served as a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    #[error("the file cannot be read: {0}")]
    Read(String),
    #[error(
        "the file has {size} bytes, more than the limit of {most}. Build in release mode with opt-level \"s\" or 3, \
         lto and strip"
    )]
    TooLarge { size: u64, most: usize },
    #[error(
        "this is not WebAssembly: it starts with {start}, not with `\\0asm`. Give the .wasm that cargo or wasm-tools \
         wrote"
    )]
    NotWasm { start: String },
    #[error("the file is cut short: {0}. Copy it again; under a name not ending in .wasm, then rename it")]
    Truncated(String),
    #[error(transparent)]
    Encode(#[from] EncodeError),
    #[error(
        "it has no signature, and this server takes only models that a key of models.trust signed. Sign it with \
         `assay model sign`"
    )]
    Unsigned,
    #[error("the key {0} signed it, which is not in models.trust. Add the key there, or have it signed by one of them")]
    Untrusted(PublicKey),
    #[error("its signature by the key {0} does not match: the file was changed after it was signed. Sign it again")]
    Forged(PublicKey),
    #[error("this is not valid WebAssembly: {0}. Build it again with a current toolchain")]
    Invalid(String),
    #[error("it uses {0}")]
    SwitchedOff(String),
    #[error("it is too complex to compile: it has {0}. Use the output of a compiler for WebAssembly")]
    TooComplex(String),
    #[error(
        "it cannot be compiled within the limits: {0}. Make the model smaller, or raise models.max_compile_seconds or \
         models.max_compile_memory_bytes"
    )]
    Compiler(String),
    /// Its cause may be the file or this machine.
    #[error(
        "it cannot be compiled: the compiler took more than {memory} MiB of memory, or more than this process may use, \
         or failed ({status}). Make the model smaller, or raise models.max_compile_memory_bytes and the limits of the \
         process; the next start tries it again"
    )]
    CompilerFailed { memory: u64, status: String },
    #[error("the process that compiles cannot begin: {0}")]
    CompilerStart(String),
    #[error("it could not be compiled: {0}. Try it again when this machine has free processor time and memory")]
    CompilerStopped(String),
    /// The refusal by an earlier check.
    #[error("{message}")]
    Remembered { code: &'static str, message: String },
    #[error("other files are being checked, and the check of this one has not begun. Try again in a moment")]
    Busy,
    #[error(
        "the server ended {deaths} times in a row while it loaded this file, so it does not load it again. Correct the \
         model, or remove loading/{note} next to the store and restart to try it once more"
    )]
    SetAside { deaths: usize, note: String },
    #[error("it needs more than an instance may have: {has}. {advice}")]
    TooDemanding { has: String, advice: &'static str },
    #[error(
        "it is a large model, and this server accepts none: it has {has}. {advice}; or accept large models with \
         models.large_lanes = 1 (host/docs/model-rules.md says what they cost)"
    )]
    NeedsLarge { has: String, advice: &'static str },
    #[error("it is a large file, and compiled in the background: it is ready in a minute or two")]
    Compiling,
    #[error("this machine has no room for the engines of {class} models: {reason}")]
    NoEngine { class: Class, reason: String },
    #[error(
        "it imports {}, and a model may import nothing: it has no clock, no network, no randomness and no files. {}",
        list(.0), import_advice(.0)
    )]
    Imports(Vec<String>),
    #[error(
        "it is not a model: it exports {}, and none of assay:model/credit@1.0.0, boost@1.0.0, sybil@1.0.0, \
         sandbox@1.0.0, nor one of these in version 2.0.0. Export one of the worlds of wit/v1 or wit/v2",
        if .0.is_empty() { "nothing".to_owned() } else { list(.0) }
    )]
    WrongWorld(Vec<String>),
    #[error(
        "it was built for {0}, and this server supports assay:model 1.x and 2.x. Build it on wit/v1 or wit/v2, or use \
         a server that supports it"
    )]
    OtherGeneration(String),
    #[error("it exports {}: a component is exactly one kind of model. Split it into one component per kind", list(.0))]
    SeveralKinds(Vec<String>),
    #[error("its {kind} interface differs from {wit}: {}. Build it on {wit} as it is released",
        .differences.join("; "))]
    TypeMismatch { kind: ModelKind, wit: &'static str, differences: Vec<String> },
    #[error("it cannot be linked: {0}")]
    Link(String),
    #[error("it does not start: {0}")]
    Start(ScoreError),
    #[error("`describe` fails: {0}")]
    Describe(ScoreError),
    #[error("`describe` answers with {0}")]
    Description(String),
    #[error("`describe` says it is a {says} model, but it exports the interface of a {exports} model. Make them agree")]
    KindMismatch { says: ModelKind, exports: ModelKind },
    #[error("self-test: {input}: {problem}")]
    SelfTest { input: String, problem: String },
    #[error(
        "{kind} {version} was released with other bytes, digest {:.12}, and this file has {:.12}. A released version \
         never changes: give this file a new version in `describe`, or put the released file back on the shelf",
        .released.to_string(), .digest.to_string()
    )]
    VersionTaken { kind: ModelKind, version: ModelVersion, digest: Digest, released: Digest },
    #[error("the model is valid, but could not be written to the shelf: {0}")]
    Write(String),
    #[error("the registry is shutting down")]
    Closed,
}

impl LoadError {
    /// The error for a file of `size` bytes that is refused before it is read, because only `most` are allowed.
    pub fn needs_large(size: &str, most: u64) -> Self {
        Self::NeedsLarge { has: format!("{size} bytes, and the limit is {most}"), advice: SMALLER }
    }

    /// Stable: programs may rely on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read(_) => "unreadable_file",
            Self::TooLarge { .. } => "too_large",
            Self::NotWasm { .. } => "not_wasm",
            Self::Truncated(_) => "truncated",
            Self::Unsigned => "unsigned",
            Self::Untrusted(_) => "untrusted",
            Self::Forged(_) => "forged",
            Self::Encode(_) => "not_encodable",
            Self::Invalid(_) | Self::SwitchedOff(_) => "invalid_wasm",
            Self::TooComplex(_) => "too_complex",
            Self::Compiler(_) => "compiler_limits",
            Self::CompilerFailed { .. } => "compiler_failed",
            Self::CompilerStart(_) => "compiler_start",
            Self::CompilerStopped(_) => "compiler_stopped",
            Self::Remembered { code, .. } => code,
            Self::Busy => "busy",
            Self::SetAside { .. } => "set_aside",
            Self::TooDemanding { .. } => "too_demanding",
            Self::NeedsLarge { .. } => "needs_large",
            Self::Compiling => "compiling",
            Self::NoEngine { .. } => "no_engine",
            Self::Imports(_) => "imports",
            Self::WrongWorld(_) => "wrong_world",
            Self::OtherGeneration(_) => "other_generation",
            Self::SeveralKinds(_) => "several_kinds",
            Self::TypeMismatch { .. } => "type_mismatch",
            Self::Link(_) => "not_linkable",
            Self::Start(_) => "does_not_start",
            Self::Describe(_) => "describe_fails",
            Self::Description(_) => "bad_description",
            Self::KindMismatch { .. } => "kind_mismatch",
            Self::SelfTest { .. } => "self_test",
            Self::VersionTaken { .. } => "version_taken",
            Self::Write(_) => "shelf_write",
            Self::Closed => "closed",
        }
    }

    /// Whether the file causes the error; false if this host does.
    pub fn is_file_fault(&self) -> bool {
        let by_host = matches!(
            self,
            Self::Read(_)
                | Self::Write(_)
                | Self::CompilerStart(_)
                | Self::CompilerStopped(_)
                | Self::Busy
                | Self::Closed
        );
        !by_host && !matches!(self, Self::Compiling | Self::NoEngine { .. })
    }
}

/// Why a role cannot change, or a model cannot be removed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    #[error("no {kind} model {version} is loaded{}",
        if loaded.is_empty() { String::new() } else { format!("; loaded are {}", list(loaded)) })]
    Unknown { kind: ModelKind, version: ModelVersion, loaded: Vec<String> },
    #[error(
        "the files of the shelf are still being compiled, and {kind} {version} may be among them: try again in a moment"
    )]
    Starting { kind: ModelKind, version: ModelVersion },
    #[error("{kind} {version} is loaded, but out of service because {why}")]
    OutOfService { kind: ModelKind, version: ModelVersion, why: String },
    #[error("{kind} {version} is on the shelf, but not loaded because {why}")]
    NotLoaded { kind: ModelKind, version: ModelVersion, why: String },
    #[error("no earlier champion of {0} is loaded and in service, so a rollback is not possible")]
    NoPrevious(ModelKind),
    #[error("{kind} {version} is the champion: make another version champion first, then remove it")]
    IsChampion { kind: ModelKind, version: ModelVersion },
    #[error("{kind} {version} answers in the live split: take it out of the split first, then remove it")]
    InSplit { kind: ModelKind, version: ModelVersion },
    #[error("{kind} {version} is the champion and cannot challenge itself")]
    ChallengesItself { kind: ModelKind, version: ModelVersion },
    #[error("the file of {kind} {version} could not be removed: {reason}")]
    Delete { kind: ModelKind, version: ModelVersion, reason: String },
    #[error("the registry is shutting down")]
    Closed,
}

impl RoleError {
    /// Stable: programs may rely on it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "unknown_model",
            Self::Starting { .. } => "starting",
            Self::OutOfService { .. } => "benched",
            Self::NotLoaded { .. } => "not_loaded",
            Self::NoPrevious(_) => "no_previous",
            Self::IsChampion { .. } => "is_champion",
            Self::InSplit { .. } => "in_split",
            Self::ChallengesItself { .. } => "challenges_itself",
            Self::Delete { .. } => "shelf_delete",
            Self::Closed => "closed",
        }
    }
}

fn list(names: &[String]) -> String {
    names.join(", ")
}

fn import_advice(imports: &[String]) -> &'static str {
    if imports.iter().any(|name| name.starts_with("wasi:") || name.starts_with("wasi_")) {
        "WASI comes with the build target: build Rust for wasm32-unknown-unknown, and JavaScript and Python with \
         `assay model build`"
    } else {
        "Remove what needs them, or pass it in through `features`"
    }
}

/// The first 400 characters of an error and its causes.
pub(crate) fn in_words(error: &wasmtime::Error) -> String {
    format!("{error:#}").chars().take(400).collect()
}
