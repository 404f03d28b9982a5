//! The host's data for an instance: the bounds of one call, and the resources that the instance used.

use std::time::Duration;

use wasmtime::{ResourceLimiter, UpdateDeadline};

use super::clock;
use crate::Limits;

/// Maximum checks of the clock, half a deadline apart. After them a call ends even if it had little CPU time.
const MAX_CHECKS: u32 = 20;

/// A limit that a guest asked to exceed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Denied {
    /// Bytes.
    Memory(usize),
    /// Elements.
    Table(usize),
}

pub(crate) struct Guest {
    max_memory: usize,
    max_table: usize,
    deadline: Duration,
    /// The peak linear memory so far, in bytes.
    pub peak: usize,
    /// The request that the host denied.
    pub denied: Option<Denied>,
    /// The number of clock checks in this call, and the CPU time at the first one.
    checks: u32,
    first_check: Option<Duration>,
}

impl Guest {
    pub(crate) fn new(limits: &Limits) -> Self {
        let Limits { memory, table, deadline, .. } = *limits;
        Self { max_memory: memory, max_table: table, deadline, peak: 0, denied: None, checks: 0, first_check: None }
    }

    /// Starts the time of a call. Returns the ticks until the first clock check.
    pub(crate) fn restart(&mut self) -> u64 {
        self.checks = 0;
        clock::ticks(self.deadline / 2)
    }

    /// Called after half of the deadline. On a busy machine the thread may not have run for that long: the call
    /// continues until it has had its CPU time, or until [`MAX_CHECKS`].
    pub(crate) fn check_clock(&mut self) -> UpdateDeadline {
        let now = clock::processor_time();
        let half = self.deadline / 2;
        self.checks += 1;
        if self.checks == 1 {
            self.first_check = now;
            return UpdateDeadline::Continue(clock::ticks(half));
        }
        match now.zip(self.first_check).map(|(now, first)| now.saturating_sub(first)) {
            Some(had) if had < half && self.checks < MAX_CHECKS => UpdateDeadline::Continue(clock::ticks(half - had)),
            _ => UpdateDeadline::Interrupt,
        }
    }
}

impl ResourceLimiter for Guest {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.max_memory {
            self.denied = Some(Denied::Memory(desired));
            return Ok(false);
        }
        self.peak = self.peak.max(desired);
        Ok(true)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > self.max_table {
            self.denied = Some(Denied::Table(desired));
        }
        Ok(desired <= self.max_table)
    }
}
