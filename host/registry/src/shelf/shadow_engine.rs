//! The shadow engine: a second engine that meters fuel and runs copies of loaded models. Its calls use no instance that
//! an answer needs.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use crate::{
    Limits, Model,
    compile::compiled::Compiled,
    confine::{engine::Purpose, engines::Engines},
    examine,
};
use assay_domain::Digest;

/// Instances of the shadow engine: one for the shadow, one for a comparison on request.
const INSTANCES: u32 = 2;

/// Metering fuel slows a call by up to 50 %, so metered calls get a longer deadline.
const DEADLINE_FACTOR: u32 = 2;

pub(crate) struct ShadowEngine {
    limits: Limits,
    /// Created on first use, so a host without challengers has no cost.
    engines: OnceLock<Result<Engines, String>>,
    copies: Mutex<BTreeMap<Digest, Arc<Model>>>,
}

impl ShadowEngine {
    pub(crate) fn new(limits: &Limits) -> Self {
        let limits = Limits { instances: INSTANCES, deadline: limits.deadline * DEADLINE_FACTOR, ..limits.clone() };
        Self { limits, engines: OnceLock::new(), copies: Mutex::default() }
    }

    /// The copy of `model`, compiled from `bytes` the first time.
    ///
    /// # Errors
    /// Why there is no copy.
    pub(crate) fn copy_of(
        &self,
        model: &Model,
        compiled: Option<&Compiled>,
        bytes: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Arc<Model>, String> {
        if let Some(copy) = self.copies().get(&model.digest()) {
            return Ok(Arc::clone(copy));
        }
        let engines = self.engines.get_or_init(|| {
            let engines = Engines::new(&self.limits, Purpose::SHADOW);
            engines.map_err(|error| format!("this machine has no room for another engine: {error:#}"))
        });
        let copy = examine::again(model, &bytes()?, engines.as_ref().map_err(Clone::clone)?, compiled);
        let copy = Arc::new(copy.map_err(|error| error.to_string())?);
        Ok(Arc::clone(self.copies().entry(model.digest()).or_insert(copy)))
    }

    /// Removes the copies of models that are not loaded.
    pub(crate) fn retain(&self, loaded: impl Fn(Digest) -> bool) {
        self.copies().retain(|digest, _| loaded(*digest));
    }

    fn copies(&self) -> MutexGuard<'_, BTreeMap<Digest, Arc<Model>>> {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
