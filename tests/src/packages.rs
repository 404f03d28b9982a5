//! npm packages that only tests need, each pinned by the lock file in its folder.

use std::path::PathBuf;

use crate::node::{Error, installed, root};

/// Installs the packages that drive a browser.
///
/// # Errors
/// If npm is missing or fails.
pub fn browser_packages() -> Result<PathBuf, Error> {
    installed(root().join("browser"))
}

/// Installs what checks the scripts of the console.
///
/// # Errors
/// If npm is missing or fails.
pub fn console_packages() -> Result<PathBuf, Error> {
    installed(root().join("../host/console"))
}

/// Installs the toolchain for models in `JavaScript`.
///
/// # Errors
/// If npm is missing or fails.
pub fn author_packages() -> Result<PathBuf, Error> {
    installed(root().join("authors"))
}

/// Installs the second verifier of statements: the EAS SDK, and the packages that run a component in Node.
///
/// # Errors
/// If npm is missing or fails.
pub fn statement_packages() -> Result<PathBuf, Error> {
    installed(root().join("statements"))
}

/// Installs the generator of `TypeScript` clients and the dependencies of its test.
///
/// # Errors
/// If npm is missing or fails.
pub fn client_packages() -> Result<PathBuf, Error> {
    installed(root().join("clients"))
}

/// Installs the public package that checks deliveries, and the compiler of the manual's receiver.
///
/// # Errors
/// If npm is missing or fails.
pub fn receiver_packages() -> Result<PathBuf, Error> {
    installed(root().join("receivers"))
}

/// Installs the contracts of Venus.
///
/// # Errors
/// If npm is missing or fails.
pub fn venus_packages() -> Result<PathBuf, Error> {
    installed(root().join("venus"))
}
