//! The one engine: how code is compiled, where instances live, and how many may be at work.

use tokio::sync::Semaphore;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
    component::{InstancePre, Linker},
};

use super::{
    Limits, ScoreError,
    call::{Call, Guest},
    clock::Clock,
};

/// Bytes of an instance's memory that are cleared and kept for the next call: two pages of WebAssembly.
const RESIDENT: usize = 128 << 10;

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
    _clock: Option<Clock>,
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
            _clock: purpose.epoch.then(|| Clock::start(&engine)).transpose()?,
            engine,
        })
    }

    /// A fresh instance, which no other call has seen or will see.
    ///
    /// # Errors
    /// Busy, or what a start function did wrong.
    pub fn start(&self, pre: &InstancePre<Guest>) -> Result<Call<'_>, ScoreError> {
        let seat = self.seats.try_acquire().map_err(|_| ScoreError::Busy { instances: self.limits.instances })?;
        Call::start(self, pre, seat)
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
            // The memory of a small guest stays resident, so that a call makes no system call: 10 us instead of 23. What a larger
            // guest has beyond is given back, which for it is cheaper than clearing it.
            .linear_memory_keep_resident(RESIDENT.min(limits.memory))
            .table_keep_resident(8 << 10)
            .pagemap_scan(Enabled::No);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
