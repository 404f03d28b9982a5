//! `[store]`: where records are kept.

use std::path::PathBuf;

use serde::Deserialize;

use super::Secret;

/// The backend, chosen once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    pub backend: Backend,
    /// File of the embedded backend.
    pub path: PathBuf,
    /// URL of the Redis backend.
    pub url: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    Embedded,
    Redis,
}
