//! Twins: loaded models once more, on an engine of their own that counts fuel. What runs there takes no seat that an
//! answer needs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use crate::{
    Limits, Model,
    compiled::Compiled,
    engine::{Purpose, Runtime},
    examine,
};
use assay_domain::Digest;

/// Seats of the engine apart: one for the shadow, and one for a comparison that somebody waits for.
const SEATS: u32 = 2;

/// Counting slows a call by up to half: a model that answers in time must not miss its deadline for being counted.
const SLOWER: u32 = 2;

pub(crate) struct Twins {
    limits: Limits,
    /// Made when the first twin is asked for: a host without challengers pays nothing.
    runtime: OnceLock<Result<Arc<Runtime>, String>>,
    made: Mutex<BTreeMap<Digest, Arc<Model>>>,
}

impl Twins {
    pub fn new(limits: &Limits) -> Self {
        let limits = Limits { instances: SEATS, deadline: limits.deadline * SLOWER, ..limits.clone() };
        Self { limits, runtime: OnceLock::new(), made: Mutex::default() }
    }

    /// The twin of `model`, compiled from `bytes` the first time.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of(
        &self,
        model: &Model,
        compiled: Option<&Compiled>,
        bytes: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Arc<Model>, String> {
        if let Some(twin) = self.made().get(&model.digest()) {
            return Ok(Arc::clone(twin));
        }
        let runtime = self.runtime.get_or_init(|| {
            let runtime = Runtime::new(&self.limits, Purpose::SHADOW);
            runtime.map(Arc::new).map_err(|error| format!("this machine has no room for another engine: {error:#}"))
        });
        let twin = examine::again(model, &bytes()?, runtime.as_ref().map_err(Clone::clone)?, compiled);
        let twin = Arc::new(twin.map_err(|error| error.to_string())?);
        Ok(Arc::clone(self.made().entry(model.digest()).or_insert(twin)))
    }

    /// Drops the twins of all models that are gone.
    pub fn keep(&self, loaded: impl Fn(Digest) -> bool) {
        self.made().retain(|digest, _| loaded(*digest));
    }

    fn made(&self) -> MutexGuard<'_, BTreeMap<Digest, Arc<Model>>> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
