//! A folder of compiled code: one file for each component and engine. It persists across restarts, and servers of one
//! user may share it.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, component::Component};

use assay_domain::Digest;

/// The compiled code of a component, from which each engine of a class loads its own copy or mapping.
pub(crate) enum CompiledCode {
    Bytes(Vec<u8>),
    /// A file in the folder below. Its pages are in memory once, for all engines.
    File {
        path: PathBuf,
        bytes: usize,
    },
}

impl CompiledCode {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Bytes(code) => code.len(),
            Self::File { bytes, .. } => *bytes,
        }
    }

    /// Whether the engines share one copy.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// # Errors
    /// If the pool has no room for the component.
    pub(crate) fn load(&self, engine: &Engine) -> wasmtime::Result<Component> {
        match self {
            Self::Bytes(code) => deserialize(engine, code),
            Self::File { path, bytes } => {
                #[expect(unsafe_code, reason = "only servers of this user write to the folder")]
                // SAFETY: as in `deserialize`. No file in the folder is modified in place once it has its name.
                let mapped = unsafe { Component::deserialize_file(engine, path) };
                // A folder may forbid execution of its files.
                mapped.or_else(|error| match fs::read(path) {
                    Ok(code) => deserialize(engine, code.get(..*bytes).unwrap_or_default()),
                    Err(_) => Err(error),
                })
            }
        }
    }
}

fn deserialize(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    #[expect(unsafe_code, reason = "the bytes come from the compiler")]
    // SAFETY: the bytes come from `precompile_component`, here or in a child process of the same program, over a pipe,
    // or from a folder that others may not write to, with a matching checksum. wasmtime compares its own version and
    // the configuration of the engine.
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// Code from an earlier start, and the time it took to compile.
pub(crate) struct KeptCode {
    pub code: CompiledCode,
    pub compile: Duration,
}

/// Code in the folder that has no name yet. Dropping it removes it.
pub(crate) struct Staged {
    temporary: PathBuf,
    path: PathBuf,
    bytes: usize,
}

impl Staged {
    pub(crate) fn code(&self) -> CompiledCode {
        CompiledCode::File { path: self.temporary.clone(), bytes: self.bytes }
    }

    /// Keeps the code for the next start. If this fails, the next start compiles it again.
    pub(crate) fn keep(self) {
        if let Err(error) = fs::rename(&self.temporary, &self.path) {
            tracing::warn!(%error, "compiled code could not be kept");
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Already renamed if it was kept. A leftover file is removed at a later start.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// The folder of compiled code.
pub(crate) struct Compiled {
    folder: PathBuf,
}

/// After the code: the milliseconds it took to compile, and a checksum of everything before it. A file truncated by a
/// full disk is compiled again.
const TOOK: usize = 8;
const CHECKSUM: usize = 32;
/// File extension of code that is not kept yet.
const STAGED: &str = "tmp";
/// Age at which staged code belongs to a server that died: longer than any compilation and self-test.
const ABANDONED: Duration = Duration::from_secs(3_600);
/// Time since its last use after which code is removed.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);

impl Compiled {
    /// # Errors
    /// If the folder cannot be created, or other users may write to it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        for entry in fs::read_dir(folder)?.flatten() {
            let staged = entry.path().extension().is_some_and(|end| end == STAGED);
            let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|used| used.elapsed().ok());
            if age.is_some_and(|age| age > if staged { ABANDONED } else { UNUSED }) {
                // A leftover file only uses disk space.
                let _ = fs::remove_file(entry.path());
            }
        }
        Ok(Self { folder: folder.to_owned() })
    }

    /// Whether the folder contains the code of this component.
    pub(crate) fn has(&self, engine: &Engine, digest: &Digest) -> bool {
        self.path(engine, digest).exists()
    }

    /// The kept code, shared by all engines or copied to each.
    pub(crate) fn get(&self, engine: &Engine, digest: &Digest, share: bool) -> Option<KeptCode> {
        let path = self.path(engine, digest);
        let mut bytes = fs::read(&path).ok()?;
        let (content, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
        if Sha256::digest(content)[..] != *checksum {
            return None;
        }
        let (code, took) = content.split_last_chunk::<TOOK>()?;
        let (length, compile) = (code.len(), Duration::from_millis(u64::from_le_bytes(*took)));
        // If the time cannot be set, the code is compiled again in a month.
        let _ = fs::File::open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        if share {
            return Some(KeptCode { code: CompiledCode::File { path, bytes: length }, compile });
        }
        bytes.truncate(length);
        Some(KeptCode { code: CompiledCode::Bytes(bytes), compile })
    }

    /// Writes code to the folder. It is kept once the component passes every check.
    pub(crate) fn stage(&self, engine: &Engine, digest: &Digest, code: &[u8], took: Duration) -> Option<Staged> {
        /// Two threads may compile the same component.
        static STAGES: AtomicU64 = AtomicU64::new(0);
        let path = self.path(engine, digest);
        let number = STAGES.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}-{number}.{STAGED}", std::process::id()));
        let staged = Staged { temporary, path, bytes: code.len() };
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).to_le_bytes();
        let checksum = Sha256::new().chain_update(code).chain_update(took).finalize();
        let written = fs::File::create(&staged.temporary)
            .and_then(|mut file| [code, &took, &checksum].into_iter().try_for_each(|part| file.write_all(part)));
        written.inspect_err(|error| tracing::warn!(%error, "compiled code could not be kept")).ok()?;
        Some(staged)
    }

    /// Removes the code of a component, for every engine.
    pub(crate) fn forget(&self, digest: &Digest) {
        let of_it = format!("{digest}-");
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_it)) {
            // A leftover file only uses disk space.
            let _ = fs::remove_file(entry.path());
        }
    }

    fn path(&self, engine: &Engine, digest: &Digest) -> PathBuf {
        // This hasher has fixed keys, so the same engine has the same name after a restart.
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        self.folder.join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if fs::metadata(folder)?.permissions().mode() & 0o022 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "others may write to the folder of compiled code: chmod go-w it",
        ));
    }
    Ok(())
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}
