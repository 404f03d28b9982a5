//! Errors of the store, each with the operator's remedy.

use std::path::PathBuf;

/// Why the store cannot be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("the store {} is in use by another process; stop that one, or give this one another store.path",
        path.display())]
    Locked { path: PathBuf },
    #[error(
        "the store {} is damaged ({reason}); it was left as it is. Put a backup in its place, or move it away to start \
         with an empty one",
        path.display()
    )]
    Damaged { path: PathBuf, reason: String },
    #[error("the store {} has format {found}, this version knows up to {known}; run the version that wrote it, or a \
             newer one", path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("the store {} cannot be opened: {reason}; check store.path, the rights to it and the space left",
        path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("the store cannot be opened: {reason}; check store.url and the server there")]
    Redis { reason: String },
}

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("the backup {} cannot be made: {reason}; check the rights to its folder and the space left",
        path.display())]
    Failed { path: PathBuf, reason: String },
    #[error("another backup is being made; wait until it is there")]
    Busy,
    #[error("the store is in Redis: back it up there, with BGSAVE or a copy of its append-only file")]
    Elsewhere,
}

/// Why a read or a write failed. A failed write changed nothing, except for [`StoreError::Unanswered`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The record has another type than its key.
    #[error(
        "the record {key} in the store cannot be read: {reason}; put a backup of the store in its place, or remove the \
         record"
    )]
    Damaged { key: String, reason: String },
    #[error("a value for {key} cannot be stored: {reason}")]
    Unstorable { key: String, reason: String },
    /// The server of the store cannot be reached.
    #[error("the store cannot be reached: {reason}; it is tried again until it can")]
    Away { reason: String },
    /// The file or the server accepts no writes.
    #[error("the store cannot be written: {reason}. It is tried again until it can")]
    Unwritable { reason: String },
    /// A write was sent, and its outcome is unknown.
    #[error("the store did not say whether it wrote: {reason}")]
    Unanswered { reason: String },
    #[error("the store failed: {reason}; check the disk and its space")]
    Failed { reason: String },
    #[error("the store has stopped; restart the server")]
    Stopped,
}
