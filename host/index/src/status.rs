//! What the index has, in numbers.

use std::path::PathBuf;

use assay_domain::ChainId;

use crate::{Index, IndexError, Progress, folder::Database, folder::Fault};

/// The index of all chains.
#[derive(Debug, Clone)]
pub struct Status {
    pub folder: PathBuf,
    /// Bytes that the index takes on the disk, with writes that are not in tables yet.
    pub bytes: u64,
    /// In the order of ids.
    pub chains: Vec<ChainStatus>,
}

/// What the folder of the index takes on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnDisk {
    /// As in [`Status`].
    pub bytes: u64,
    /// Damaged databases that were set aside and are still there.
    pub set_aside: usize,
}

/// The index of one chain.
#[derive(Debug, Clone)]
pub struct ChainStatus {
    pub chain: ChainId,
    pub progress: Progress,
    /// Bytes of its tables.
    pub bytes: u64,
}

impl Index {
    /// Looks at the files alone.
    pub fn on_disk(&self) -> OnDisk {
        OnDisk { bytes: self.folder().bytes(), set_aside: self.folder().set_aside_so_far() }
    }

    /// # Errors
    /// That the folder cannot be read.
    pub fn status(&self) -> Result<Status, IndexError> {
        let chains = self.read(chains)?;
        Ok(Status { folder: self.folder().path.clone(), bytes: self.folder().bytes(), chains })
    }
}

fn chains(database: &Database) -> Result<Vec<ChainStatus>, Fault> {
    let view = database.view();
    let mut found = Vec::new();
    for chain in view.chains() {
        if let Some(progress) = view.progress(chain)? {
            let bytes = view.entries(chain).map_or(0, |entries| entries.disk_space());
            found.push(ChainStatus { chain, progress: Progress { rewinding: false, ..progress }, bytes });
        }
    }
    found.sort_by_key(|status| status.chain);
    Ok(found)
}
