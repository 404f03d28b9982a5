//! Compiled code kept between starts: a file per component and engine, written and read by this service alone.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};
use wasmtime::{Engine, component::Component};

use assay_domain::Digest;

/// `component` in another engine of the same configuration, without compiling it again.
///
/// # Errors
/// Where the engines are not alike.
pub(crate) fn copy(component: &Component, to: &Engine) -> wasmtime::Result<Component> {
    let code = component.serialize()?;
    #[expect(unsafe_code, reason = "the bytes never left this function")]
    // SAFETY: they are what `serialize` has just made of a component.
    unsafe {
        Component::deserialize(to, code)
    }
}

/// The folder of compiled code.
pub(crate) struct Compiled {
    folder: PathBuf,
}

/// Bytes of the checksum in front of the code: a file that a full disk cut short is compiled again.
const CHECKSUM: usize = 32;

impl Compiled {
    /// # Errors
    /// Where the folder cannot be made, or others than its owner may write to it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    pub fn get(&self, engine: &Engine, digest: &Digest) -> Option<Component> {
        let bytes = fs::read(self.path(engine, digest)).ok()?;
        let (checksum, code) = bytes.split_at_checked(CHECKSUM)?;
        if Sha256::digest(code)[..] != *checksum {
            return None;
        }
        #[expect(unsafe_code, reason = "only this service can write to the folder, and the file is as it was written")]
        // SAFETY: `open` refused a folder that others may write to, the checksum matches what `put` wrote, and wasmtime
        // itself compares its own version and the engine's configuration.
        let component = unsafe { Component::deserialize(engine, code) };
        component.ok()
    }

    /// Failing to keep the code costs time at the next start, and nothing else.
    pub fn put(&self, engine: &Engine, digest: &Digest, component: &Component) {
        let path = self.path(engine, digest);
        if path.exists() {
            return;
        }
        let write = || -> Result<(), String> {
            let code = component.serialize().map_err(|error| format!("{error:#}"))?;
            let temporary = path.with_extension("tmp");
            let mut file = fs::File::create(&temporary).map_err(|error| error.to_string())?;
            file.write_all(&Sha256::digest(&code))
                .and_then(|()| file.write_all(&code))
                .map_err(|error| error.to_string())?;
            fs::rename(&temporary, &path).map_err(|error| error.to_string())
        };
        if let Err(error) = write() {
            tracing::warn!(error, "compiled code could not be kept");
        }
    }

    /// Takes out what was kept of a component, for whichever engine.
    pub fn forget(&self, digest: &Digest) {
        let of_it = format!("{digest}-");
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&of_it)) {
            // What stays costs room on the disk until it is asked for again.
            let _ = fs::remove_file(entry.path());
        }
    }

    fn path(&self, engine: &Engine, digest: &Digest) -> PathBuf {
        // The standard hasher has fixed keys here: the same engine gives the same name at the next start.
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
