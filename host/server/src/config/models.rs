//! `[models]`: the shelf and the confinement of what stands on it.

use std::path::PathBuf;

use serde::Deserialize;

/// Where components are found, and the bounds of each call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// Folder of `.wasm` files, watched.
    pub shelf: PathBuf,
    /// Largest component, in bytes.
    pub max_component_bytes: u64,
    /// Linear memory one call may use, in bytes.
    pub max_memory_bytes: usize,
    /// Longest time one call may run, in milliseconds.
    pub call_deadline_ms: u64,
    /// Calls running at once; the instance pool has this size.
    pub max_calls: u32,
}
