//! What can be wrong with the database: its bytes, or the machine.

use std::io;

use fjall::Error;

/// Why the database did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Fault {
    /// What is on the disk is not what was written.
    Damaged(String),
    /// A chain that has a progress has no entries.
    Gone,
    /// A kept entry is none.
    Entry,
    /// A read or a write failed.
    Failed(String),
    /// An earlier write failed, after which the database takes none until it is opened again.
    Stopped,
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Poisoned | Error::Locked => Self::Stopped,
            Error::Io(error) | Error::Storage(fjall::LsmError::Io(error)) => error.into(),
            Error::KeyspaceDeleted => Self::Failed("the chain was just removed".into()),
            Error::Storage(error) => Self::Damaged(error.to_string()),
            error => Self::Damaged(error.to_string()),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{AlreadyExists, InvalidData, NotFound, UnexpectedEof};
        match error.kind() {
            AlreadyExists | InvalidData | NotFound | UnexpectedEof => Self::Damaged(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
