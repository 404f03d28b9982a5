//! The contents of an export, and the digests of its files.

use std::{
    fs::File,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use alloy::hex;
use assay_domain::{Address, ChainId, Time};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::error::SegmentsError;
use crate::{
    IndexProgress,
    codec::{MOST_BLOCK, MOST_MARKETS},
};

/// The name of the manifest, which is written last.
pub const MANIFEST: &str = "manifest.json";
const FORMAT: u64 = 1;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    pub format: u64,
    /// The version of Assay that wrote the export.
    pub made_by: String,
    pub made_at: Time,
    pub chains: Vec<ExportedChain>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedChain {
    pub chain: ChainId,
    /// The index of the chain, with its markets and the hashes of its checkpoints.
    pub index: IndexProgress,
    pub files: Vec<ExportedFile>,
}

/// A table with all entries of some wallets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    pub name: String,
    /// SHA-256 of the whole file, in hexadecimal.
    pub sha256: String,
    pub bytes: u64,
    pub rows: u64,
    /// The first and the last wallet.
    pub first: Address,
    pub last: Address,
}

impl Manifest {
    pub(super) fn new(chains: Vec<ExportedChain>) -> Self {
        let made_by = concat!("assay ", env!("CARGO_PKG_VERSION")).into();
        Self { format: FORMAT, made_by, made_at: chrono::Utc::now(), chains }
    }

    /// Writes the manifest into `folder`, whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> Result<(), SegmentsError> {
        let path = folder.join(MANIFEST);
        let write = || -> io::Result<()> {
            let draft = folder.join(format!("{MANIFEST}.new"));
            let mut file = File::create(&draft)?;
            serde_json::to_writer_pretty(&mut file, self)?;
            writeln!(file)?;
            file.sync_all()?;
            std::fs::rename(draft, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|error| SegmentsError::file(&path, &error))
    }

    /// Reads and checks the manifest in `folder`. Returns it with the digest of its bytes.
    pub(super) fn read(folder: &Path) -> Result<(Self, String), SegmentsError> {
        let path = folder.join(MANIFEST);
        let text = std::fs::read(&path).map_err(|error| SegmentsError::file(&path, &error))?;
        let bad = |reason: String| SegmentsError::bad(&path, reason);
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| bad(error.to_string()))?;
        match value.get("format").and_then(serde_json::Value::as_u64) {
            Some(FORMAT) => {}
            Some(found) if found > FORMAT => return Err(SegmentsError::Newer { path, found, known: FORMAT }),
            _ => return Err(bad("it does not say its format".into())),
        }
        let manifest: Self = serde_json::from_value(value).map_err(|error| bad(error.to_string()))?;
        for chain in &manifest.chains {
            chain.check().map_err(|reason| bad(format!("chain {}: {reason}", chain.chain)))?;
        }
        let mut ids: Vec<_> = manifest.chains.iter().map(|chain| chain.chain).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| matches!(pair, [a, b] if a == b)) {
            return Err(bad("it has a chain twice".into()));
        }
        Ok((manifest, hex::encode(Sha256::digest(&text))))
    }
}

impl ExportedChain {
    /// # Errors
    /// Says what is missing or contradictory.
    fn check(&self) -> Result<(), &'static str> {
        let Self { index, files, .. } = self;
        let last = index.through().ok_or("it has no block")?;
        if index.markets.is_empty() || index.markets.len() > MOST_MARKETS || last.number > MOST_BLOCK {
            return Err("it has no market, or more than there can be");
        }
        let rising = |pair: &[crate::Checkpoint]| matches!(pair, [a, b] if a.number < b.number);
        if !index.checkpoints.windows(2).all(rising) {
            return Err("its checkpoints do not rise");
        }
        let rows = files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.rows));
        if rows != Some(index.entries) {
            return Err("a file is missing: its files do not have as many rows as the index has entries");
        }
        let ordered = |pair: &[ExportedFile]| matches!(pair, [a, b] if a.last < b.first);
        if !files.windows(2).all(ordered) || files.iter().any(|file| file.first > file.last) {
            return Err("its files do not follow each other");
        }
        let plain = |file: &ExportedFile| Path::new(&file.name).file_name().is_some_and(|name| *name == *file.name);
        if files.iter().all(plain) { Ok(()) } else { Err("a file has a path for a name") }
    }
}

impl ExportedFile {
    /// Compares the file with its digest and returns its path.
    pub(super) fn check(&self, folder: &Path) -> Result<PathBuf, SegmentsError> {
        let path = folder.join(&self.name);
        let digest = || -> io::Result<(u64, String)> {
            let mut hasher = Sha256::new();
            let bytes = io::copy(&mut File::open(&path)?, &mut hasher)?;
            Ok((bytes, hex::encode(hasher.finalize())))
        };
        let (bytes, sha256) = digest().map_err(|error| SegmentsError::file(&path, &error))?;
        if (bytes, &sha256) != (self.bytes, &self.sha256) {
            let Self { bytes: length, sha256: digest, .. } = self;
            let reason = format!("it has {bytes} bytes with SHA-256 {sha256}, not {length} with {digest}");
            return Err(SegmentsError::bad(&path, reason));
        }
        Ok(path)
    }
}
