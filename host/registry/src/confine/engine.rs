//! The engines: how code is compiled, where instances are allocated, and how many may run at the same time.

use std::{fs, sync::Arc, thread};

use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmBacktraceDetails,
};

use super::{
    class::{ClassParts, RESIDENT},
    epochs::EpochClock,
    shard::{EngineSlot, Shard, Shards},
};
use crate::{Class, Limits};

/// Each shard has its own code and pool. A machine with more cores also has other work.
const MAX_SHARDS: u32 = 16;

/// The features of an engine. Each one except the pool slows every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Purpose {
    /// Whether instances come from a pool that is allocated in advance.
    pub pool: bool,
    /// Whether the memory of larger classes is cleared page by page, if that is safe.
    pub scan: bool,
    /// Whether calls have a deadline.
    pub epoch: bool,
    /// Whether calls report a cost that is the same on every machine.
    pub fuel: bool,
    /// Whether the memory of a stopped instance can be inspected.
    pub dump: bool,
}

impl Purpose {
    /// A stopped instance is read for the text of its panic, with file and line: the log, the audit log, the shadow and
    /// backtests name the cause.
    pub(crate) const SERVE: Self = Self { pool: true, scan: true, epoch: true, fuel: false, dump: true };
    /// For authors: limits as in service.
    pub(crate) const CHECK: Self = Self::SERVE;
    /// For the shadow engine.
    pub(crate) const SHADOW: Self = Self { fuel: true, ..Self::SERVE };
    pub(crate) const COUNT: Self = Self { pool: false, ..Self::SHADOW };
    /// For authors: the cost of each call.
    pub(crate) const TRY: Self = Self::COUNT;
}

/// One engine for each core, all with the same configuration, with their clock and limits.
pub(crate) struct Runtime {
    shards: Arc<Shards>,
    pub purpose: Purpose,
    pub class: Class,
    /// The limits of the class.
    pub limits: Limits,
    /// Why there is no pool, if the purpose asks for one and the machine has no room for it.
    pub without_pool: Option<String>,
    clock: Option<EpochClock>,
}

impl Runtime {
    /// # Errors
    /// If this processor or this configuration cannot run WebAssembly at all.
    pub(crate) fn new(limits: &Limits, purpose: Purpose, class: Class) -> wasmtime::Result<Self> {
        let limits = limits.of(class);
        // Two cores that share one pool compete for its locks and cache lines: together they make 1.5 times the calls
        // of one core instead of twice as many.
        let cores = thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(MAX_SHARDS));
        let lanes = class.lanes(&limits, cores);
        let shards = if purpose.pool { lanes.min(MAX_SHARDS).min(limits.instances).max(1) } else { 1 };
        let slots = limits.instances.div_ceil(shards);
        let pooled = config(&limits, purpose, Some((class, slots)));
        let (shards, without_pool) = match (purpose.pool, Engine::new(&pooled)) {
            (_, Ok(engine)) => {
                // Fewer shards if the machine has no room for all pools.
                let others = (1..shards).map_while(|_| Some(Shard::new(Engine::new(&pooled).ok()?, slots))).collect();
                (Shards { first: Shard::new(engine, slots), others }, None)
            }
            (false, Err(error)) => return Err(error),
            // A pool reserves a terabyte of address space, which a container may forbid. Without a pool calls are
            // slower.
            (true, Err(error)) => {
                let engine = Engine::new(&config(&limits, Purpose { pool: false, ..purpose }, None))?;
                let shards = Shards { first: Shard::new(engine, limits.instances), others: Vec::new() };
                (shards, Some(format!("{error:#}")))
            }
        };
        let shards = Arc::new(shards);
        Ok(Self {
            clock: purpose.epoch.then(|| EpochClock::start(&shards)).transpose()?,
            purpose: Purpose { pool: purpose.pool && without_pool.is_none(), ..purpose },
            class,
            limits,
            without_pool,
            shards,
        })
    }

    /// The engine that compiles. The compiled code runs in all shards.
    pub(crate) fn engine(&self) -> &Engine {
        &self.shards.first.engine
    }

    pub(crate) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter()
    }

    /// `None` if every instance is in use.
    pub(crate) fn take_slot(&self) -> Option<EngineSlot<'_>> {
        let slot = self.shards.take_slot()?;
        self.clock.iter().for_each(EpochClock::wake);
        Some(slot)
    }
}

/// An engine that only compiles.
///
/// # Errors
/// Those of [`Runtime::new`].
pub(crate) fn compiling(purpose: Purpose) -> wasmtime::Result<Engine> {
    Engine::new(&config(&Limits::default(), purpose, None))
}

fn config(limits: &Limits, purpose: Purpose, pool: Option<(Class, u32)>) -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(purpose.epoch)
        .consume_fuel(purpose.fuel)
        .max_wasm_stack(limits.stack)
        .cranelift_opt_level(OptLevel::Speed)
        // All processors must produce the same bits.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .coredump_on_trap(purpose.dump)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if let Some((class, slots)) = pool.filter(|_| purpose.pool) {
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool_of(class, slots, purpose, limits)));
    }
    config
}

/// A pool with `slots` instances of a class.
fn pool_of(class: Class, slots: u32, purpose: Purpose, limits: &Limits) -> PoolingAllocationConfig {
    let ClassParts { modules, tables, memories } = class.parts();
    let scan = purpose.scan && class != Class::Small && can_scan();
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(slots)
        .total_core_instances(slots.saturating_mul(modules))
        .total_memories(slots.saturating_mul(memories))
        .total_tables(slots.saturating_mul(tables))
        .max_memory_size(limits.memory)
        .table_elements(limits.table)
        .max_unused_warm_slots(64)
        // The memory of a small guest stays resident, so a call makes no system call: 10 us instead of 23. Memory
        // beyond that is returned to the system, which is cheaper than clearing it, unless the kernel reports which
        // pages were written: then only these are cleared.
        .linear_memory_keep_resident(if scan { limits.memory } else { RESIDENT.min(limits.memory) })
        .table_keep_resident(limits.table.saturating_mul(size_of::<usize>()))
        .pagemap_scan(if scan { Enabled::Auto } else { Enabled::No });
    pool
}

/// Whether the engines may ask the kernel which pages of an instance were written, to clear only these after a call
/// (`PAGEMAP_SCAN`, Linux 6.7 and later). The kernel must support it, and nothing may be swapped out: a page that was
/// written and then swapped out is not reported, so the next call would see data of the previous one.
fn can_scan() -> bool {
    let without_swap = fs::read_to_string("/proc/swaps").is_ok_and(|swaps| swaps.lines().count() <= 1);
    without_swap && PoolingAllocationConfig::is_pagemap_scan_available()
}
