//! The settings of the registry: the folders, and the limits of a file, of a call and of an answer.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use crate::{Compiler, PublicKey, Released, Roles};
use assay_domain::{ModelKind, ModelVersion};

/// The folder in a shelf with the files of removed versions, each named by the digest of its bytes.
pub const REMOVED: &str = "removed";

/// All settings. [`Settings::new`] has the defaults stated here.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of released components. Every file whose name ends in `.wasm` is a model.
    pub shelf: PathBuf,
    /// The folder of compiled code; `None` compiles at every start. This process runs the code in it, so a folder that
    /// other users may write to is rejected.
    pub compiled: Option<PathBuf>,
    /// The folder of notes about files that are being loaded, not shared with other servers. With `None`, a file is
    /// loaded however often it ended this server.
    pub attempts: Option<PathBuf>,
    /// The stored roles.
    pub roles: Roles,
    /// The stored digests of the versions in `roles`.
    pub released: Released,
    /// The champion of a kind without a stored one. A kind that is not listed, or whose version is not on the shelf,
    /// gets its highest version.
    pub first_champions: BTreeMap<ModelKind, ModelVersion>,
    /// Whether [`crate::Registry::open`] waits until every file is loaded or listed with its error. If false, it waits
    /// only for small files; the others follow in the background.
    pub patient: bool,
    /// How long the file of a removed version is kept in the folder [`REMOVED`] of the shelf, for replay. 0 deletes it.
    pub keep_removed: Duration,
    /// False for a registry that reads the shelf only on [`crate::Registry::rescan`].
    pub watch: bool,
    pub limits: Limits,
}

impl Settings {
    /// The defaults for this shelf.
    pub fn new(shelf: impl Into<PathBuf>) -> Self {
        Self {
            shelf: shelf.into(),
            compiled: None,
            attempts: None,
            roles: Roles::default(),
            released: Released::new(),
            first_champions: BTreeMap::new(),
            patient: true,
            keep_removed: Duration::ZERO,
            watch: true,
            limits: Limits::default(),
        }
    }
}

/// The limits of a file, of a call and of an answer. These are for small models; those of other classes are derived.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// Maximum size of a file, in bytes. 16 MiB.
    pub file: usize,
    /// Maximum linear memory of an instance, in bytes. 2 MiB, thirty times what a good model needs.
    pub memory: usize,
    /// Maximum number of elements in one table of a guest. 1024.
    pub table: usize,
    /// Maximum stack of a guest, in bytes. 512 KiB, a quarter of the stack of a worker thread.
    pub stack: usize,
    /// Maximum CPU time of a call of a small model. 20 ms, a thousand times what a good one needs. On a busy machine a
    /// call may last up to ten times as long.
    pub deadline: Duration,
    /// Maximum CPU time of a whole self-test. 3 s.
    pub self_test: Duration,
    /// Maximum number of concurrent instances. 256.
    pub instances: u32,
    /// The number of engines of large models, 1 or 2; 0 refuses large models. 0.
    pub large_lanes: u32,
    /// Maximum size of an answer, in bytes. 1 MiB.
    pub answer: usize,
    /// Consecutive failures after which a model goes out of service. 3.
    pub failures: u32,
    /// If there are keys, every model must be signed by one of them.
    pub trust: Vec<PublicKey>,
    /// Compiles components in a child process; `None` compiles them in this process, without a limit.
    pub compiler: Option<Compiler>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            file: 16 << 20,
            memory: 2 << 20,
            table: 1024,
            stack: 512 << 10,
            deadline: Duration::from_millis(20),
            self_test: Duration::from_secs(3),
            instances: 256,
            large_lanes: 0,
            answer: 1 << 20,
            failures: 3,
            trust: Vec::new(),
            compiler: None,
        }
    }
}
