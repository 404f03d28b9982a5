//! What the registry may use: where the shelf is, and the bounds of a file, of a call and of an answer.

use std::{path::PathBuf, time::Duration};

use crate::Roles;

/// Everything that can be set. [`Settings::new`] gives the defaults stated here.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of released components. Files whose names end in `.wasm` are models, whatever else they are called.
    pub shelf: PathBuf,
    /// Where compiled code is kept between starts; `None` compiles every time. Whoever may write here runs code in this
    /// process, so the folder must be this service's alone: it is refused where others may write to it.
    pub compiled: Option<PathBuf>,
    /// Who answers, as the store remembers it. Empty: the highest version of each kind.
    pub roles: Roles,
    /// False for a registry that only reads the shelf when told to.
    pub watch: bool,
    pub limits: Limits,
}

impl Settings {
    /// The defaults, over this shelf.
    pub fn new(shelf: impl Into<PathBuf>) -> Self {
        Self { shelf: shelf.into(), compiled: None, roles: Roles::default(), watch: true, limits: Limits::default() }
    }
}

/// The bounds of a file, of a call and of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The largest file that is read, in bytes. 16 MiB.
    pub file: usize,
    /// The most linear memory an instance may have, in bytes. 2 MiB: thirty times what a good model needs.
    pub memory: usize,
    /// The most elements in one table of a guest. 1024.
    pub table: usize,
    /// The most stack a guest may use, in bytes. 512 KiB, a quarter of what a worker thread has.
    pub stack: usize,
    /// The processor time a call may take. 20 ms, a thousand times what a good model needs. A call that a busy machine
    /// keeps waiting may last up to ten times as long.
    pub deadline: Duration,
    /// The longest a whole self-test may take. 3 s.
    pub self_test: Duration,
    /// Instances that may be at work at one moment. 256.
    pub instances: u32,
    /// The most bytes the host will hold of one answer. 1 MiB.
    pub answer: usize,
    /// Failures in a row that take a champion out of service. 3.
    pub failures: u32,
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
            answer: 1 << 20,
            failures: 3,
        }
    }
}
