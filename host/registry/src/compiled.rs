//! A folder of compiled code, reused after a restart: one file for each component and engine. Only this service writes
//! to it.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, component::Component};

use crate::{LoadError, attempts::Attempt};
use assay_domain::Digest;

/// Moves `component` to another engine of the same configuration without compiling it again.
///
/// # Errors
/// Where the configurations differ.
pub(crate) fn copy(component: &Component, to: &Engine) -> wasmtime::Result<Component> {
    let code = component.serialize()?;
    #[expect(unsafe_code, reason = "the bytes come from `serialize` above")]
    // SAFETY: the bytes come from `serialize` on a component.
    unsafe {
        Component::deserialize(to, code)
    }
}

/// Loads code that the compiler just made, in this process or in its child.
///
/// # Errors
/// Where the pool has no room for the component.
pub(crate) fn fresh(engine: &Engine, code: &[u8]) -> wasmtime::Result<Component> {
    #[expect(unsafe_code, reason = "the bytes come from the compiler")]
    // SAFETY: the bytes come from `precompile_component`, here or in a child process of the same program, over a pipe.
    unsafe {
        Component::deserialize(engine, code)
    }
}

/// The folder of compiled code.
pub(crate) struct Compiled {
    folder: PathBuf,
}

/// Bytes of the checksum before the code. A file that a full disk truncated is compiled again.
const CHECKSUM: usize = 32;

impl Compiled {
    /// # Errors
    /// Where the folder cannot be created, or other users may write to it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Notes that a file is being loaded, unless its code is kept: then it was loaded before.
    ///
    /// # Errors
    /// [`LoadError::SetAside`].
    pub fn attempt(&self, engine: &Engine, digest: &Digest) -> Result<Option<Attempt>, LoadError> {
        if self.path(engine, digest).exists() {
            return Ok(None);
        }
        Attempt::begin(&self.folder, digest).map(Some)
    }

    pub fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let bytes = fs::read(self.path(engine, digest)).ok()?;
        let (checksum, code) = bytes.split_at_checked(CHECKSUM)?;
        if Sha256::digest(code)[..] != *checksum {
            return None;
        }
        #[expect(unsafe_code, reason = "only this service can write to the folder, and the checksum matches")]
        // SAFETY: `open` rejects a folder that others may write to, the checksum matches what `put` wrote, and wasmtime
        // compares its own version and the configuration of the engine.
        let component = unsafe { Component::deserialize(engine, code) };
        component.ok()
    }

    /// A failure only costs time at the next start.
    pub fn put(&self, engine: &Engine, digest: &Digest, code: &[u8]) {
        let path = self.path(engine, digest);
        if path.exists() {
            return;
        }
        let write = || -> Result<(), String> {
            let temporary = path.with_extension("tmp");
            let mut file = fs::File::create(&temporary).map_err(|error| error.to_string())?;
            file.write_all(&Sha256::digest(code))
                .and_then(|()| file.write_all(code))
                .map_err(|error| error.to_string())?;
            fs::rename(&temporary, &path).map_err(|error| error.to_string())
        };
        if let Err(error) = write() {
            tracing::warn!(error, "compiled code could not be kept");
        }
    }

    /// Removes the code of a component, for every engine.
    pub fn forget(&self, digest: &Digest) {
        let of_it = format!("{digest}-");
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_it)) {
            // A file that stays only uses disk space.
            let _ = fs::remove_file(entry.path());
        }
    }

    fn path(&self, engine: &Engine, digest: &Digest) -> PathBuf {
        // This hasher has fixed keys: the same engine has the same name after a restart.
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
