//! A real registry of components: Debian's docker-registry. [`tokens`] issues the tokens that it may require.

pub mod tokens;

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{
    process::{End, Guarded, Lines},
    redis::free_port,
};

/// Attempts to find a free port, since another process may take it first.
const TRIES: usize = 5;

/// `lender:open sesame`, as written by `htpasswd -B`.
const LENDER: &str = "lender:$2b$05$Cg/o.YIAr.VriKZxyRJGReGHxbWI8pMVhHf8QNEpvLCSJ3twwOXfW\n";

/// Running until dropped.
pub struct Registry {
    process: Guarded,
    dir: TempDir,
    port: u16,
}

impl Registry {
    /// # Panics
    /// If it does not start.
    pub fn start() -> Self {
        Self::asking("")
    }

    /// Starts a registry that requires the name `lender` and the password `open sesame`.
    ///
    /// # Panics
    /// If it does not start.
    pub fn with_password() -> Self {
        Self::asking("auth:\n  htpasswd:\n    realm: lenders\n    path: {dir}/htpasswd\n")
    }

    /// Starts a registry with this section in its configuration, in which `{dir}` is its folder.
    ///
    /// # Panics
    /// If it does not start.
    pub fn asking(auth: &str) -> Self {
        let mut last = None;
        for _ in 0..TRIES {
            match tempfile::tempdir().and_then(|dir| Self::started(dir, free_port(), auth)) {
                Ok(registry) => return registry,
                Err(error) => last = Some(error),
            }
        }
        panic!("docker-registry does not start; install the package docker-registry: {last:?}");
    }

    /// Starts with the folder and port of an earlier registry.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_in(dir: TempDir, port: u16) -> io::Result<Self> {
        Self::started(dir, port, "")
    }

    fn started(dir: TempDir, port: u16, auth: &str) -> io::Result<Self> {
        let file = dir.path().join("registry.yml");
        let data = dir.path().join("data");
        fs::write(dir.path().join("htpasswd"), LENDER)?;
        let auth = auth.replace("{dir}", &dir.path().display().to_string());
        let storage = format!("storage:\n  filesystem:\n    rootdirectory: {}\n", data.display());
        fs::write(&file, format!("version: 0.1\n{storage}http:\n  addr: 127.0.0.1:{port}\n{auth}"))?;
        let mut command = Command::new("docker-registry");
        command.arg("serve").arg(&file);
        let (process, ()) =
            Guarded::start(&command, End::Kill, Lines::Keep, |line| line.contains("listening on").then_some(()))?;
        Ok(Self { process, dir, port })
    }

    /// Returns its host and port.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Returns the file with the bytes of a digest.
    pub fn blob(&self, hex: &str) -> PathBuf {
        let blobs = Path::new("data/docker/registry/v2/blobs/sha256");
        self.dir.path().join(blobs).join(hex.get(..2).unwrap_or_default()).join(hex).join("data")
    }

    /// Stops the registry. Another one can start with its folder and port.
    pub fn stop(self) -> (TempDir, u16) {
        drop(self.process);
        (self.dir, self.port)
    }
}
