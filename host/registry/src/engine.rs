//! The engines: how code is compiled, where instances live, and how many may be at work.

use std::thread;

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
};

use crate::{
    Limits, ScoreError,
    abi::Abi,
    call::Call,
    clock::Clock,
    lane::{self, Door, Lane},
};

/// Each lane has code and a pool of its own, and more cores than these have other work as well.
const MOST_LANES: u32 = 16;

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
    /// Beside those that serve.
    pub const SHADOW: Self = Self { pool: true, epoch: true, fuel: true };
    pub const COUNT: Self = Self { pool: false, epoch: true, fuel: true };
}

/// Engines with their clock and the bounds of what runs in them: one engine for each core, all alike.
pub(crate) struct Runtime {
    first: Lane,
    others: Vec<Lane>,
    pub purpose: Purpose,
    pub limits: Limits,
    /// Why there is no pool, where one was asked for and the machine has no room for it.
    pub without_pool: Option<String>,
    _clock: Option<Clock>,
}

impl Runtime {
    /// # Errors
    /// Where this processor or this configuration cannot run WebAssembly at all.
    pub fn new(limits: &Limits, purpose: Purpose) -> wasmtime::Result<Self> {
        // Calls on two cores that share a pool take turns with its locks and pass each other's memory between their
        // caches: together they make half as many calls again, instead of twice as many.
        let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(MOST_LANES));
        let lanes = if purpose.pool { cores.min(MOST_LANES).min(limits.instances).max(1) } else { 1 };
        let seats = limits.instances.div_ceil(lanes);
        let pooled = config(limits, purpose, seats);
        let (first, others, without_pool) = match (purpose.pool, Engine::new(&pooled)) {
            // Where there is room for some pools and not for all, some have to do.
            (_, Ok(engine)) => (
                Lane::new(engine, seats),
                (1..lanes).map_while(|_| Some(Lane::new(Engine::new(&pooled).ok()?, seats))).collect(),
                None,
            ),
            (false, Err(error)) => return Err(error),
            // A pool reserves a terabyte of addresses, which a container may forbid. Calls work without, only slower.
            (true, Err(error)) => {
                let engine = Engine::new(&config(limits, Purpose { pool: false, ..purpose }, seats))?;
                (Lane::new(engine, limits.instances), Vec::new(), Some(format!("{error:#}")))
            }
        };
        let engines = std::iter::once(&first).chain(&others).map(|lane| &lane.engine);
        Ok(Self {
            _clock: purpose.epoch.then(|| Clock::start(engines)).transpose()?,
            purpose: Purpose { pool: purpose.pool && without_pool.is_none(), ..purpose },
            limits: limits.clone(),
            without_pool,
            first,
            others,
        })
    }

    /// The engine that compiles; what it compiled runs in all.
    pub fn engine(&self) -> &Engine {
        &self.first.engine
    }

    pub fn lanes(&self) -> impl Iterator<Item = &Lane> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// A fresh instance, which no other call has seen or will see, of a model with a door in each lane.
    ///
    /// # Errors
    /// Busy, or what a start function did wrong.
    pub fn start<'a>(&'a self, doors: &'a [Door]) -> Result<(Call<'a>, &'a dyn Abi), ScoreError> {
        let busy = || ScoreError::Busy { instances: self.limits.instances };
        let seat = lane::seat(&self.first, &self.others).ok_or_else(busy)?;
        let door = doors.get(seat.index).ok_or_else(busy)?;
        Ok((Call::start(self, &door.pre, seat)?, door.abi.as_ref()))
    }
}

fn config(limits: &Limits, purpose: Purpose, instances: u32) -> Config {
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
        pool.total_component_instances(instances)
            .total_core_instances(instances.saturating_mul(4))
            .total_memories(instances)
            .total_tables(instances.saturating_mul(2))
            .max_memory_size(limits.memory)
            .table_elements(limits.table)
            .max_unused_warm_slots(64)
            // The memory of a small guest stays resident, so that a call makes no system call: 10 us instead of 23.
            // What a larger guest has beyond is given back, which for it is cheaper than clearing it.
            .linear_memory_keep_resident(RESIDENT.min(limits.memory))
            .table_keep_resident(8 << 10)
            .pagemap_scan(Enabled::No);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
