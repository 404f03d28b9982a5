//! Errors of export and import.

use std::{
    io,
    path::{Path, PathBuf},
};

use assay_domain::ChainId;

use crate::IndexError;

#[derive(Debug, thiserror::Error)]
pub enum SegmentsError {
    #[error("{0}")]
    Index(#[from] IndexError),
    #[error("{} cannot be read or written: {reason}; check the rights to it and the space left", path.display())]
    File { path: PathBuf, reason: String },
    #[error("{} is not what was exported: {reason}; copy the export again", path.display())]
    Bad { path: PathBuf, reason: String },
    #[error("{} has format {found}, this version knows up to {known}; import it with the version that wrote it, or a \
             newer one", path.display())]
    Newer { path: PathBuf, found: u64, known: u64 },
    #[error("{} has an export already; name another folder", path.display())]
    There { path: PathBuf },
    #[error("chain {chain} is already in the index, through block {through}; with --replace it is removed first")]
    Indexed { chain: ChainId, through: u64 },
}

impl SegmentsError {
    pub(super) fn file(path: &Path, error: &io::Error) -> Self {
        Self::File { path: path.to_owned(), reason: error.to_string() }
    }

    pub(super) fn bad(path: &Path, reason: impl Into<String>) -> Self {
        Self::Bad { path: path.to_owned(), reason: reason.into() }
    }
}
