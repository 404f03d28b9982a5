//! How one call is confined: a fresh instance, bounded memory, stack, time and answer.

use std::time::Duration;

use wasmtime::{
    ResourceLimiter, Store, UpdateDeadline,
    component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, TypedFunc},
};

use crate::{Limits, ScoreError, clock, engine::Runtime, lane::Seat};

/// More fuel than any call can burn before its deadline; what is missing afterwards is the cost.
const TANK: u64 = u64::MAX / 2;

/// Looks at the clock, half a deadline apart, after which a call ends however little it has been let run.
const PATIENCE: u32 = 20;

/// What the host keeps beside an instance: its bounds, and what it asked for in vain.
pub(crate) struct Guest {
    cap: usize,
    table_cap: usize,
    denied: Option<usize>,
    peak: usize,
    deadline: Duration,
    /// Times the clock was looked at during this call, and the processor time of the first look.
    looks: u32,
    first_look: Option<Duration>,
}

impl Guest {
    /// Half of the deadline is over. A call that was kept waiting by a busy machine is not to blame for that: it may go
    /// on until it has had its processor time, or a multiple of the deadline is over.
    fn look(&mut self) -> UpdateDeadline {
        let now = clock::processor_time();
        let half = self.deadline / 2;
        self.looks += 1;
        if self.looks == 1 {
            self.first_look = now;
            return UpdateDeadline::Continue(clock::ticks(half));
        }
        match now.zip(self.first_look).map(|(now, first)| now.saturating_sub(first)) {
            Some(had) if had < half && self.looks < PATIENCE => UpdateDeadline::Continue(clock::ticks(half - had)),
            _ => UpdateDeadline::Interrupt,
        }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.cap {
            self.denied = Some(desired);
            return Ok(false);
        }
        self.peak = self.peak.max(desired);
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= self.table_cap)
    }
}

/// One instance at work.
pub(crate) struct Call<'a> {
    runtime: &'a Runtime,
    store: Store<Guest>,
    instance: Option<Instance>,
    _seat: Seat<'a>,
}

impl<'a> Call<'a> {
    /// A fresh instance in a seat.
    ///
    /// # Errors
    /// What a start function did wrong.
    pub fn start(runtime: &'a Runtime, pre: &InstancePre<Guest>, seat: Seat<'a>) -> Result<Self, ScoreError> {
        let Limits { memory, table, deadline, answer, .. } = runtime.limits;
        let guest =
            Guest { cap: memory, table_cap: table, denied: None, peak: 0, deadline, looks: 0, first_look: None };
        let mut store = Store::new(&seat.lane.engine, guest);
        store.limiter(|guest| guest);
        store.set_hostcall_fuel(answer);
        if runtime.purpose.epoch {
            store.epoch_deadline_callback(|mut store| Ok(store.data_mut().look()));
        }
        let mut call = Self { runtime, store, instance: None, _seat: seat };
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
    /// A trap, an answer that cannot be read, or a function of another type.
    pub fn invoke<P, R>(&mut self, function: &ComponentExportIndex, params: P) -> wasmtime::Result<R>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let instance = self.instance.ok_or_else(|| wasmtime::format_err!("the instance did not start"))?;
        let function: TypedFunc<P, (R,)> = instance.get_typed_func(&mut self.store, function)?;
        function.call(&mut self.store, params).map(|(answer,)| answer)
    }

    /// Whether the instance has this function with these types.
    ///
    /// # Errors
    /// What is different.
    pub fn offers<P, R>(&mut self, function: &ComponentExportIndex) -> wasmtime::Result<()>
    where
        P: ComponentNamedList + Lower,
        (R,): ComponentNamedList + Lift,
    {
        let instance = self.instance.ok_or_else(|| wasmtime::format_err!("the instance did not start"))?;
        instance.get_typed_func::<P, (R,)>(&mut self.store, function).map(drop)
    }

    /// Gives the call its full time and fuel again.
    pub fn rewind(&mut self) {
        if self.runtime.purpose.epoch {
            self.store.data_mut().looks = 0;
            self.store.set_epoch_deadline(clock::ticks(self.runtime.limits.deadline / 2));
        }
        if self.runtime.purpose.fuel {
            // Fuel is on in this engine, so it can be set.
            let _ = self.store.set_fuel(TANK);
        }
    }

    /// Fuel burnt since the last [`Call::rewind`]; 0 where none is counted.
    pub fn fuel(&self) -> u64 {
        self.store.get_fuel().map_or(0, |left| TANK.saturating_sub(left))
    }

    /// The most linear memory the instance has had, in bytes.
    pub fn peak_memory(&self) -> usize {
        self.store.data().peak
    }

    /// What `error`, which this call ended with, means.
    pub fn failure(&self, error: &wasmtime::Error) -> ScoreError {
        ScoreError::of(error, self.store.data().denied, &self.runtime.limits)
    }
}
