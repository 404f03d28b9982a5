//! Counts the calls of one model, and its consecutive failures.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Duration,
};

use metrics::{Counter, Histogram};

use crate::ScoreError;
use assay_domain::ModelInfo;

pub(crate) struct CallTally {
    calls: AtomicU64,
    failures: AtomicU64,
    in_a_row: AtomicU32,
    fuel: AtomicU64,
    memory: AtomicUsize,
    peak: AtomicUsize,
    /// Nanoseconds.
    typical: AtomicU64,
    counted: Counter,
    took: Histogram,
}

impl CallTally {
    pub(crate) fn new(info: &ModelInfo) -> Self {
        let labels = [("kind", info.kind.as_str().to_owned()), ("version", info.version.to_string())];
        Self {
            calls: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            in_a_row: AtomicU32::new(0),
            fuel: AtomicU64::new(0),
            memory: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            typical: AtomicU64::new(0),
            // Registered once: looking up a metric takes a tenth of the time of a call.
            counted: metrics::counter!("assay_model_calls_total", &labels),
            took: metrics::histogram!("assay_model_call_seconds", &labels),
        }
    }

    /// The number of calls, and how many of them failed.
    pub(crate) fn calls(&self) -> (u64, u64) {
        (self.calls.load(Relaxed), self.failures.load(Relaxed))
    }

    pub(crate) fn set_cost(&self, fuel: u64, memory: usize) {
        self.fuel.store(fuel, Relaxed);
        self.memory.store(memory, Relaxed);
    }

    /// Fuel and bytes of memory of the last call.
    pub(crate) fn last_cost(&self) -> (u64, usize) {
        (self.fuel.load(Relaxed), self.memory.load(Relaxed))
    }

    /// Records the memory of a call.
    pub(crate) fn note_peak(&self, memory: usize) {
        // Read first, as in `reset`.
        if self.peak.load(Relaxed) < memory {
            self.peak.fetch_max(memory, Relaxed);
        }
    }

    /// The peak memory of a call so far, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Relaxed)
    }

    pub(crate) fn set_typical(&self, call: Duration) {
        self.typical.store(u64::try_from(call.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The time of an ordinary call when the model was loaded.
    pub(crate) fn typical(&self) -> Duration {
        Duration::from_nanos(self.typical.load(Relaxed))
    }

    /// Records a call. Returns the number of consecutive failures, including this one.
    pub(crate) fn record(&self, took: Duration, error: Option<&ScoreError>) -> u32 {
        self.calls.fetch_add(1, Relaxed);
        self.counted.increment(1);
        self.took.record(took.as_secs_f64());
        match error {
            Some(error) if error.is_fault() => {
                self.failures.fetch_add(1, Relaxed);
                self.in_a_row.fetch_add(1, Relaxed).saturating_add(1)
            }
            // The host had no free instance, which says nothing about the model.
            Some(ScoreError::Busy { .. }) => 0,
            _ => {
                self.reset();
                0
            }
        }
    }

    /// Resets the consecutive failures.
    pub(crate) fn reset(&self) {
        // Read first: a write would make all cores compete for the cache line.
        if self.in_a_row.load(Relaxed) != 0 {
            self.in_a_row.store(0, Relaxed);
        }
    }
}
