//! Faults of the database: damaged data, or a failing machine.

use std::io;

use fjall::Error;

/// Why the database failed.
#[derive(Debug)]
pub(crate) enum DatabaseFault {
    /// The data on disk differs from what was written.
    Damaged(String),
    /// A chain with progress has no entries.
    Gone,
    /// A stored entry cannot be decoded.
    Entry,
    /// A read or a write failed.
    Failed(String),
    /// An earlier write failed. The database accepts no more writes until it is reopened.
    Stopped,
}

impl From<Error> for DatabaseFault {
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

impl From<io::Error> for DatabaseFault {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{AlreadyExists, InvalidData, NotFound, UnexpectedEof};
        match error.kind() {
            AlreadyExists | InvalidData | NotFound | UnexpectedEof => Self::Damaged(error.to_string()),
            _ => Self::Failed(error.to_string()),
        }
    }
}
