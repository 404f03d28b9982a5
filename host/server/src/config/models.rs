//! `[models]`: the shelf, and the limits of components and their calls.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use assay_domain::{
    ModelKind, ModelVersion,
    settings::{self, Problems},
};
use assay_registry::{Compiler, Limits, PublicKey};
use serde::Deserialize;

use crate::sources::Reference;

/// The folder of components, and the limits of each call.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Models {
    /// Folder of `.wasm` files. The server watches it.
    pub shelf: PathBuf,
    /// Folder of compiled code; if absent, `compiled` next to the store.
    pub compiled_path: Option<PathBuf>,
    /// The champion of a kind for which the store has none.
    pub first_champions: BTreeMap<ModelKind, ModelVersion>,
    /// Largest component, in bytes.
    pub max_component_bytes: u64,
    /// Linear memory one call may use, in bytes.
    pub max_memory_bytes: usize,
    /// Maximum time that one call may run.
    #[serde(rename = "call_deadline_ms", deserialize_with = "settings::millis")]
    pub call_deadline: Duration,
    /// Calls that run at the same time, and the size of the instance pool.
    pub max_calls: u32,
    /// Engines of large models; 0 refuses large models.
    pub large_lanes: u32,
    /// Whether anyone with a key may download the models, to run them on the features of a score.
    pub public: bool,
    /// Keys by one of which a model must be signed; without keys, none needs a signature.
    pub trust: Vec<PublicKey>,
    /// Components of registries that the server puts on the shelf, each with the digest of its manifest.
    pub sources: Vec<Reference>,
    /// Processor time for compiling one component.
    pub max_compile_seconds: u64,
    /// Memory for compiling one component, in bytes.
    pub max_compile_memory_bytes: u64,
    /// The program that compiles; without one, this process does. Set by the commands of the binary.
    #[serde(skip)]
    pub compiler: Option<PathBuf>,
}

impl Models {
    pub fn limits(&self) -> Limits {
        Limits {
            file: usize::try_from(self.max_component_bytes).unwrap_or(usize::MAX),
            memory: self.max_memory_bytes,
            deadline: self.call_deadline,
            instances: self.max_calls,
            large_lanes: self.large_lanes,
            trust: self.trust.clone(),
            compiler: self.compiler.as_ref().map(|program| Compiler {
                program: program.clone(),
                time: Duration::from_secs(self.max_compile_seconds),
                memory: self.max_compile_memory_bytes,
            }),
            ..Limits::default()
        }
    }

    /// The largest file that may be uploaded, in bytes.
    pub(crate) fn largest_component(&self) -> u64 {
        match self.large_lanes {
            0 => self.max_component_bytes,
            _ => self.limits().largest_file() as u64,
        }
    }

    pub(super) fn problems(&self) -> Problems {
        let mut found = Problems::default();
        found.number("max_component_bytes", self.max_component_bytes, 1..);
        found.number("max_memory_bytes", self.max_memory_bytes, 1..);
        found.millis("call_deadline_ms", self.call_deadline, 1..);
        found.number("max_calls", self.max_calls, 1..);
        found.number("large_lanes", self.large_lanes, 0..=2);
        for source in self.sources.iter().filter(|source| source.digest.is_none()) {
            let what = format!("{source} has no digest, and a tag can change: name it as `assay model pull` prints it");
            found.add("sources", what);
        }
        found.number("max_compile_seconds", self.max_compile_seconds, 1..=3_600);
        found.number("max_compile_memory_bytes", self.max_compile_memory_bytes, 256 << 20..);
        found
    }
}
