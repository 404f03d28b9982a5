//! The size and progress of the index.

use std::path::PathBuf;

use assay_domain::ChainId;

use crate::{Index, IndexError, IndexProgress, folder::Database, folder::DatabaseFault};

/// The index of all chains.
#[derive(Debug, Clone)]
pub struct Status {
    pub folder: PathBuf,
    /// Disk space of the index in bytes, including writes that are not in tables yet.
    pub bytes: u64,
    /// Ordered by id.
    pub chains: Vec<ChainStatus>,
}

/// Disk usage of the index folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnDisk {
    /// See [`Status::bytes`].
    pub bytes: u64,
    /// Number of damaged databases that were set aside and not removed.
    pub set_aside: usize,
}

/// The index of one chain.
#[derive(Debug, Clone)]
pub struct ChainStatus {
    pub chain: ChainId,
    pub progress: IndexProgress,
    /// Size of its tables in bytes.
    pub bytes: u64,
}

impl Index {
    /// Returns the disk usage. Only looks at the files.
    pub fn on_disk(&self) -> OnDisk {
        OnDisk { bytes: self.folder().bytes(), set_aside: self.folder().set_aside_so_far() }
    }

    /// # Errors
    /// If the folder cannot be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        let chains = self.read(chains)?;
        Ok(Status { folder: self.folder().path.clone(), bytes: self.folder().bytes(), chains })
    }
}

fn chains(database: &Database) -> Result<Vec<ChainStatus>, DatabaseFault> {
    let view = database.view();
    let mut found = Vec::new();
    for chain in view.chains() {
        if let Some(progress) = view.progress(chain)? {
            let bytes = view.entries(chain).map_or(0, |entries| entries.disk_space());
            found.push(ChainStatus { chain, progress: IndexProgress { rewinding: false, ..progress }, bytes });
        }
    }
    found.sort_by_key(|status| status.chain);
    Ok(found)
}
