//! The confinement of one call: a fresh instance with bounded memory, stack, time and answer.

pub(crate) mod abi;
pub(crate) mod answer;
pub(crate) mod decile_table;
pub(crate) mod kinds;
pub(crate) mod linked;
pub(crate) mod mock;
pub(crate) mod model;
pub(crate) mod notes;
pub(crate) mod price;
pub(crate) mod samples;
pub(crate) mod tally;

use std::collections::BTreeSet;

use wasmtime::{
    Store,
    component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc},
};

use crate::{
    ScoreError,
    confine::{
        dump::{self, Remains},
        engine::Runtime,
        guest::Guest,
        shard::EngineSlot,
    },
};

/// More fuel than any call can use before its deadline; the fuel used is the cost.
const FUEL: u64 = u64::MAX / 2;

/// One running instance.
pub(crate) struct ModelCall<'a> {
    runtime: &'a Runtime,
    store: Store<Guest>,
    instance: Option<Instance>,
    _slot: EngineSlot<'a>,
}

impl<'a> ModelCall<'a> {
    /// Starts a fresh instance in a slot.
    ///
    /// # Errors
    /// The failure of a start function.
    pub(crate) fn start(
        runtime: &'a Runtime,
        pre: &InstancePre<Guest>,
        slot: EngineSlot<'a>,
    ) -> Result<Self, ScoreError> {
        let mut store = Store::new(&slot.shard.engine, Guest::new(&runtime.limits));
        store.limiter(|guest| guest);
        store.set_hostcall_fuel(runtime.limits.answer);
        if runtime.purpose.epoch {
            store.epoch_deadline_callback(|mut store| Ok(store.data_mut().check_clock()));
        }
        let mut call = Self { runtime, store, instance: None, _slot: slot };
        call.rewind();
        match pre.instantiate(&mut call.store) {
            Ok(instance) => call.instance = Some(instance),
            Err(error) => return Err(call.failure(&error)),
        }
        Ok(call)
    }

    /// Calls one function of the instance.
    ///
    /// # Errors
    /// A trap, an unreadable answer, or a function of another type.
    pub(crate) fn invoke<P, R>(&mut self, function: &ComponentExportIndex, params: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let function = self.function::<P, R>(function)?;
        function.call(&mut self.store, params).map(|(answer,)| answer)
    }

    /// Checks that the instance has this function with these types.
    ///
    /// # Errors
    /// The difference.
    pub(crate) fn offers<P, R>(&mut self, function: &ComponentExportIndex) -> wasmtime::Result<()>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        self.function::<P, R>(function).map(drop)
    }

    fn function<P, R>(&mut self, function: &ComponentExportIndex) -> wasmtime::Result<TypedFunc<P, (R,)>>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let instance = self.instance.ok_or_else(|| wasmtime::format_err!("the instance did not start"))?;
        instance.get_typed_func(&mut self.store, function)
    }

    /// Resets the time and the fuel of the call.
    pub(crate) fn rewind(&mut self) {
        if self.runtime.purpose.epoch {
            let ticks = self.store.data_mut().restart();
            self.store.set_epoch_deadline(ticks);
        }
        if self.runtime.purpose.fuel {
            // This engine meters fuel, so setting it cannot fail.
            let _ = self.store.set_fuel(FUEL);
        }
    }

    /// Fuel used since the last [`ModelCall::rewind`]; 0 if the engine does not meter it.
    pub(crate) fn fuel(&self) -> u64 {
        if !self.runtime.purpose.fuel {
            return 0;
        }
        self.store.get_fuel().map_or(0, |left| FUEL.saturating_sub(left))
    }

    /// The peak linear memory of the instance, in bytes.
    pub(crate) fn peak_memory(&self) -> usize {
        self.store.data().peak
    }

    /// The prints of this instance, if its language has a `print`. `error` may have stopped it.
    pub(crate) fn printed(&mut self, error: Option<&wasmtime::Error>) -> Option<String> {
        let printed = match error {
            Some(error) => dump::printed(error, &self.store),
            None => {
                let function = self.prints()?;
                self.invoke::<(), String>(&function, ()).ok()
            }
        };
        printed.map(|text| dump::harmless(&text))
    }

    /// The pages of memory that a script wrote in this instance; reading them stops it. Empty if the engine does not
    /// meter fuel or keeps no dump.
    pub(crate) fn written(&mut self) -> BTreeSet<u32> {
        let Some(function) = self.prints() else { return BTreeSet::new() };
        // Without fuel a call stops before its first step, and the error contains the memory.
        let stopped = self.store.set_fuel(0).and_then(|()| self.invoke::<(), String>(&function, ()));
        stopped.err().map(|error| dump::written(&error, &self.store)).unwrap_or_default()
    }

    /// The function by which a script returns its prints.
    fn prints(&mut self) -> Option<ComponentExportIndex> {
        self.instance?.get_export_index(&mut self.store, None, "printed")
    }

    /// Describes `error`, which ended this call.
    pub(crate) fn failure(&mut self, error: &wasmtime::Error) -> ScoreError {
        match dump::remains(error, &mut self.store) {
            Remains::Panic(text) => ScoreError::Trap { kind: text, at: None },
            Remains::FullStack => ScoreError::GuestStack,
            Remains::Nothing => ScoreError::of(error, self.store.data().denied, &self.runtime.limits),
        }
    }
}
