//! Writes the index of chains to files.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use assay_domain::{Address, ChainId};

use super::{
    error::SegmentsError,
    manifest::{ExportedChain, ExportedFile, MANIFEST, Manifest},
    row::{EntryRow, Texts},
    write::SegmentWriter,
};
use crate::{Index, WalletEntries};

/// A file ends with the first wallet after this many rows.
const ROWS: u64 = if cfg!(test) { 1 << 10 } else { 1 << 20 };

/// Writes the index of `chains` into `folder`, which is created. Calls `done` with each file. The manifest is written
/// last: a folder without one holds an interrupted export, and the next export into the folder starts over.
///
/// # Errors
/// [`SegmentsError::There`] if the folder has an export; also if a chain is not indexed or a file cannot be written.
pub fn export(
    index: &Index,
    chains: &[ChainId],
    folder: &Path,
    mut done: impl FnMut(&ExportedFile),
) -> Result<Manifest, SegmentsError> {
    if folder.join(MANIFEST).exists() {
        return Err(SegmentsError::There { path: folder.to_owned() });
    }
    fs::create_dir_all(folder).map_err(|error| SegmentsError::file(folder, &error))?;
    let mut exported = Vec::new();
    for chain in chains {
        exported.push(export_chain(index, *chain, folder, &mut done)?);
    }
    let manifest = Manifest::new(exported);
    manifest.write(folder)?;
    Ok(manifest)
}

fn export_chain(
    index: &Index,
    chain: ChainId,
    folder: &Path,
    done: &mut impl FnMut(&ExportedFile),
) -> Result<ExportedChain, SegmentsError> {
    let stream = index.everything(chain)?;
    let progress = stream.progress().clone();
    let (mut texts, mut files, mut open) = (Texts::new(&progress.markets), Vec::new(), None::<OpenExport>);
    for item in stream {
        let WalletEntries { wallet, market, entries } = item?;
        if let Some(full) = open.take_if(|file| file.rows >= ROWS && file.last != wallet) {
            files.push(full.finish(&mut texts)?);
            files.last().into_iter().for_each(&mut *done);
        }
        let file = match &mut open {
            Some(file) => file,
            none => none.insert(OpenExport::new(folder, chain, files.len(), wallet)?),
        };
        for entry in entries {
            file.write(EntryRow { wallet, market, entry }, &mut texts)?;
        }
    }
    if let Some(last) = open {
        files.push(last.finish(&mut texts)?);
        files.last().into_iter().for_each(done);
    }
    Ok(ExportedChain { chain, index: progress, files })
}

/// A file being written.
struct OpenExport {
    path: PathBuf,
    name: String,
    writer: SegmentWriter,
    rows: u64,
    first: Address,
    last: Address,
}

impl OpenExport {
    fn new(folder: &Path, chain: ChainId, number: usize, first: Address) -> Result<Self, SegmentsError> {
        let name = format!("chain-{chain}-{number:04}.parquet");
        let path = folder.join(&name);
        let writer = SegmentWriter::create(&path, chain).map_err(|error| SegmentsError::file(&path, &error))?;
        Ok(Self { path, name, writer, rows: 0, first, last: first })
    }

    fn write(&mut self, row: EntryRow, texts: &mut Texts) -> Result<(), SegmentsError> {
        self.rows += 1;
        self.last = row.wallet;
        self.writer.write(row, texts).map_err(|error: io::Error| SegmentsError::file(&self.path, &error))
    }

    fn finish(self, texts: &mut Texts) -> Result<ExportedFile, SegmentsError> {
        let Self { path, name, writer, rows, first, last } = self;
        let written = writer.finish(texts).map_err(|error| SegmentsError::file(&path, &error))?;
        Ok(ExportedFile { name, sha256: written.sha256, bytes: written.bytes, rows, first, last })
    }
}
