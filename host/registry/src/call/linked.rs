//! A component linked in every shard, and the start of a call on it.

use wasmtime::component::{Component, InstancePre};

use super::{
    ModelCall,
    abi::{self, Abi},
};
use crate::{
    ScoreError,
    compile::{compiled::CompiledCode, world::KindWorld},
    confine::{engine::Runtime, guest::Guest},
    load_error::in_words,
};

/// A component, linked once for each shard of the runtime.
pub(crate) struct Linked(Vec<InShard>);

struct InShard {
    pre: InstancePre<Guest>,
    abi: Box<dyn Abi>,
}

impl Linked {
    /// Links `component`, which the first engine loaded from `code`.
    ///
    /// # Errors
    /// The reason, if it cannot be linked.
    pub(crate) fn new(
        component: &Component,
        code: &CompiledCode,
        world: &KindWorld,
        runtime: &Runtime,
    ) -> Result<Self, String> {
        let mut shards = Vec::new();
        for (index, shard) in runtime.shards().enumerate() {
            let loaded = if index == 0 { Ok(component.clone()) } else { code.load(&shard.engine) };
            let component = loaded.map_err(|error| in_words(&error))?;
            let pre = shard.linker.instantiate_pre(&component).map_err(|error| in_words(&error))?;
            shards.push(InShard { pre, abi: abi::bind(&component, world)? });
        }
        Ok(Self(shards))
    }

    /// Starts a fresh instance, and returns it with its functions.
    ///
    /// # Errors
    /// [`ScoreError::Busy`], or the failure of a start function.
    pub(crate) fn start<'a>(&'a self, runtime: &'a Runtime) -> Result<(ModelCall<'a>, &'a dyn Abi), ScoreError> {
        let busy = || ScoreError::Busy { instances: runtime.limits.instances };
        let slot = runtime.take_slot().ok_or_else(busy)?;
        let InShard { pre, abi } = self.0.get(slot.index).ok_or_else(busy)?;
        Ok((ModelCall::start(runtime, pre, slot)?, abi.as_ref()))
    }
}
