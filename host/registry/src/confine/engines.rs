//! The engines of each class. They are created when the first model of the class is loaded, and end with its last one.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use wasmtime::Engine;

use super::engine::{self, Purpose, Runtime};
use crate::{Class, Limits, LoadError};

pub(crate) struct Engines {
    /// The limits of small models; those of the other classes are derived from them.
    pub limits: Limits,
    purpose: Purpose,
    /// Compiles and runs nothing: names compiled code, which is the same in every class.
    pub names: Engine,
    made: Mutex<[Weak<Runtime>; Class::ALL.len()]>,
}

impl Engines {
    /// # Errors
    /// If this processor cannot run WebAssembly at all.
    pub(crate) fn new(limits: &Limits, purpose: Purpose) -> wasmtime::Result<Self> {
        let names = engine::compiling(purpose)?;
        Ok(Self { limits: limits.clone(), purpose, names, made: Mutex::default() })
    }

    /// The engines of `class`.
    ///
    /// # Errors
    /// [`LoadError::NoEngine`].
    pub(crate) fn of(&self, class: Class) -> Result<Arc<Runtime>, LoadError> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(place) = made.get_mut(class as usize) else { return Err(LoadError::Closed) };
        if let Some(runtime) = place.upgrade() {
            return Ok(runtime);
        }
        let runtime = Runtime::new(&self.limits, self.purpose, class);
        let runtime = runtime.map_err(|error| LoadError::NoEngine { class, reason: format!("{error:#}") })?;
        if let Some(reason) = &runtime.without_pool {
            tracing::warn!(%class, reason, "no room for a pool of model instances: calls will be slower");
        }
        let runtime = Arc::new(runtime);
        *place = Arc::downgrade(&runtime);
        Ok(runtime)
    }
}
