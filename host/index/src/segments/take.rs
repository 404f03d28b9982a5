//! Writes imported rows. The chain has no progress until the end, so readers never see part of an import.

use assay_domain::ChainId;
use serde::{Deserialize, Serialize};

use crate::{
    Index, IndexError, IndexProgress, WalletEntries,
    folder::{Database, DatabaseFault},
    items::{count, insert, pieces},
    limits,
};

/// The progress of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct TakenRows {
    /// The digest of the manifest.
    pub manifest: String,
    pub files: usize,
    pub entries: u64,
    pub events: u64,
}

/// An import of one chain.
pub(super) struct Taking<'a> {
    index: &'a Index,
    chain: ChainId,
    pub progress: &'a IndexProgress,
    pub taken: TakenRows,
    waiting: Vec<WalletEntries>,
}

impl<'a> Taking<'a> {
    /// Continues an interrupted import of the same manifest, or begins with an empty chain.
    pub(super) fn new(
        index: &'a Index,
        chain: ChainId,
        progress: &'a IndexProgress,
        digest: &str,
    ) -> Result<Self, IndexError> {
        let found: Option<TakenRows> = index.read(|database| database.view().import(chain))?;
        let taken = match found.filter(|taken| taken.manifest == digest) {
            Some(taken) => taken,
            None => {
                let taken = TakenRows { manifest: digest.to_owned(), ..TakenRows::default() };
                index.write(|database| {
                    let entries = database.create(chain)?;
                    let mut batch = database.batch(&entries);
                    batch.put_import(&taken)?;
                    database.commit(batch)
                })?;
                taken
            }
        };
        Ok(Self { index, chain, progress, taken, waiting: Vec::new() })
    }

    pub(super) fn put(&mut self, item: WalletEntries) -> Result<(), IndexError> {
        let (entries, events) = count(&item.entries);
        (self.taken.entries, self.taken.events) = (self.taken.entries + entries, self.taken.events + events);
        self.waiting.extend(pieces(self.progress, &item));
        if self.waiting.len() >= limits::SEGMENTS_PER_WRITE { self.write(false, None) } else { Ok(()) }
    }

    /// Writes the rest of a file and marks the file as done.
    pub(super) fn end_file(&mut self) -> Result<(), IndexError> {
        self.taken.files += 1;
        self.write(true, None)
    }

    /// Completes the import: the chain is in the index.
    pub(super) fn end(mut self) -> Result<(), IndexError> {
        let progress = IndexProgress { rewinds: 0, rewinding: false, ..self.progress.clone() };
        self.write(false, Some(&progress))
    }

    fn write(&mut self, file_done: bool, progress: Option<&IndexProgress>) -> Result<(), IndexError> {
        let items = std::mem::take(&mut self.waiting);
        self.index.write(|database| self.commit(database, &items, file_done, progress))
    }

    fn commit(
        &self,
        database: &Database,
        items: &[WalletEntries],
        file_done: bool,
        progress: Option<&IndexProgress>,
    ) -> Result<(), DatabaseFault> {
        let view = database.view();
        let (mut assets, entries) = (view.assets(self.chain)?, view.entries(self.chain).ok_or(DatabaseFault::Gone)?);
        let mut batch = database.batch(&entries);
        for item in items {
            insert(&mut batch, item, &mut assets)?;
        }
        batch.put_assets(&assets)?;
        if file_done {
            batch.put_import(&self.taken)?;
        }
        if let Some(progress) = progress {
            batch.remove_import();
            batch.put_progress(progress)?;
        }
        database.commit(batch)
    }
}
