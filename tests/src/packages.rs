//! Packages from npm that only tests need, each pinned by the lock file in its folder.

use std::path::PathBuf;

use crate::node::{Error, installed, root};

/// The packages that drive a browser, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn browser_packages() -> Result<PathBuf, Error> {
    installed(root().join("browser"))
}

/// The toolchain of models in `JavaScript`, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn author_packages() -> Result<PathBuf, Error> {
    installed(root().join("authors"))
}

/// The second verifier of statements: the SDK of EAS, and what runs a component in Node, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn statement_packages() -> Result<PathBuf, Error> {
    installed(root().join("statements"))
}

/// The generator of `TypeScript` clients and what its test needs, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn client_packages() -> Result<PathBuf, Error> {
    installed(root().join("clients"))
}

/// The contracts of Venus, installed.
///
/// # Errors
/// When npm is missing or fails.
pub fn venus_packages() -> Result<PathBuf, Error> {
    installed(root().join("venus"))
}
