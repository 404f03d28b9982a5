//! What an operator sees of a running server: its log, its metrics and its traces.

mod log;
mod metrics;
mod process;
mod trace;

pub use log::{Format, LogError, start};
pub use metrics::{Metrics, UPKEEP};
pub use trace::{Collector, TraceError, Traces, answered, request};
