//! Lets only one process open the index. The lock ends with the process.

use std::{
    fs::{File, OpenOptions, TryLockError},
    path::Path,
};

use crate::IndexError;

#[derive(Debug)]
pub(super) struct Lock(#[expect(dead_code, reason = "the open file holds the lock")] File);

impl Lock {
    pub(super) fn take(folder: &Path) -> Result<Self, IndexError> {
        let unusable =
            |error: std::io::Error| IndexError::Unusable { folder: folder.to_owned(), reason: error.to_string() };
        let file =
            OpenOptions::new().create(true).truncate(false).write(true).open(folder.join("lock")).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked { folder: folder.to_owned() }),
            Err(TryLockError::Error(error)) => Err(unusable(error)),
        }
    }
}
