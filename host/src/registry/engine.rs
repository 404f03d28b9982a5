//! The one engine, its clock, and how a call is confined: a fresh instance, bounded memory, stack, time and answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, ResourceLimiter, Store, WasmBacktraceDetails,
    component::{ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Linker, Lower, TypedFunc},
};

use super::{Limits, ScoreError};

/// How often the clock of the deadline moves.
const TICK: Duration = Duration::from_millis(1);

/// More fuel than any call can burn before its deadline; what is missing afterwards is the cost.
const TANK: u64 = u64::MAX / 2;

/// What an engine is for. Serving wants neither fuel nor anything else that slows a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Instances come from a pool that is ready beforehand.
    pub pool: bool,
    /// Calls have a deadline.
    pub epoch: bool,
    /// Calls report a cost that is the same on every machine.
    pub fuel: bool,
}

impl Purpose {
    pub const SERVE: Self = Self { pool: true, epoch: true, fuel: false };
    pub const COUNT: Self = Self { pool: false, epoch: true, fuel: true };
}

/// An engine with its clock, an empty linker, and as many seats as there are instances.
pub(crate) struct Runtime {
    pub engine: Engine,
    /// Empty, and never filled: a model can import nothing.
    pub linker: Linker<Guest>,
    pub purpose: Purpose,
    pub limits: Limits,
    /// Why there is no pool, where one was asked for and the machine has no room for it.
    pub without_pool: Option<String>,
    seats: Semaphore,
    deadline_ticks: u64,
    _ticker: Option<Ticker>,
}

impl Runtime {
    /// # Errors
    /// Where this processor or this configuration cannot run WebAssembly at all.
    pub fn new(limits: &Limits, purpose: Purpose) -> wasmtime::Result<Self> {
        let (engine, without_pool) = match (purpose.pool, Engine::new(&config(limits, purpose))) {
            (_, Ok(engine)) => (engine, None),
            (false, Err(error)) => return Err(error),
            // A pool reserves a terabyte of addresses, which a container may forbid. Calls work without, only slower.
            (true, Err(error)) => (Engine::new(&config(limits, Purpose { pool: false, ..purpose }))?, Some(format!("{error:#}"))),
        };
        Ok(Self {
            linker: Linker::new(&engine),
            purpose: Purpose { pool: purpose.pool && without_pool.is_none(), ..purpose },
            limits: limits.clone(),
            without_pool,
            // An exhausted pool is an error deep inside an instantiation; a seat is refused before it.
            seats: Semaphore::new(limits.instances as usize),
            // One more than the time divided: the tick under way is already partly over.
            deadline_ticks: u64::try_from(limits.deadline.as_millis().div_ceil(TICK.as_millis())).unwrap_or(u64::MAX - 1).saturating_add(1),
            _ticker: purpose.epoch.then(|| Ticker::start(&engine)),
            engine,
        })
    }

    /// A fresh instance, which no other call has seen or will see.
    ///
    /// # Errors
    /// Busy, or what a start function did wrong.
    pub fn start(&self, pre: &InstancePre<Guest>) -> Result<Call<'_>, ScoreError> {
        let seat = self.seats.try_acquire().map_err(|_| ScoreError::Busy { instances: self.limits.instances })?;
        let mut store = Store::new(&self.engine, Guest { cap: self.limits.memory, table_cap: self.limits.table, denied: None, peak: 0 });
        store.limiter(|guest| guest);
        store.set_hostcall_fuel(self.limits.answer);
        let mut call = Call { runtime: self, store, instance: None, _seat: seat };
        call.rewind();
        match pre.instantiate(&mut call.store) {
            Ok(instance) => call.instance = Some(instance),
            Err(error) => return Err(call.failure(&error)),
        }
        Ok(call)
    }
}

fn config(limits: &Limits, purpose: Purpose) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(purpose.epoch)
        .consume_fuel(purpose.fuel)
        .max_wasm_stack(limits.stack)
        .cranelift_opt_level(OptLevel::Speed)
        // Two machines of different make must agree to the bit.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if purpose.pool {
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(limits.instances)
            .total_core_instances(limits.instances.saturating_mul(4))
            .total_memories(limits.instances)
            .total_tables(limits.instances.saturating_mul(2))
            .max_memory_size(limits.memory)
            .table_elements(limits.table)
            .max_unused_warm_slots(64)
            // A whole memory stays resident, so that a call makes no system call: 10 us instead of 23.
            .linear_memory_keep_resident(limits.memory)
            .table_keep_resident(8 << 10)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}

/// What the host keeps beside an instance: its bounds, and what it asked for in vain.
pub(crate) struct Guest {
    cap: usize,
    table_cap: usize,
    denied: Option<usize>,
    peak: usize,
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
    _seat: SemaphorePermit<'a>,
}

impl Call<'_> {
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
            self.store.set_epoch_deadline(self.runtime.deadline_ticks);
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

/// Moves the engine's clock from a thread of its own, until dropped.
struct Ticker {
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Ticker {
    fn start(engine: &Engine) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, engine) = (Arc::clone(&stop), engine.weak());
        let tick = move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::sleep(TICK);
                // Weak, so that a clock cannot keep an engine alive.
                let Some(engine) = engine.upgrade() else { return };
                engine.increment_epoch();
            }
        };
        let thread = thread::Builder::new().name("model-clock".into()).spawn(tick);
        if let Err(error) = &thread {
            tracing::error!(%error, "no thread for the clock of model calls: an endless loop in a model would not be stopped");
        }
        Self { stop, thread: thread.ok() }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
