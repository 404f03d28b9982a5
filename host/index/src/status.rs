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

/// The index of one chain.
#[derive(Debug, Clone)]
pub struct ChainStatus {
    pub chain: ChainId,
    pub progress: Progress,
    /// Bytes of its tables.
    pub bytes: u64,
}

impl Index {
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
