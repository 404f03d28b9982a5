//! The log, the metrics and the traces of a running server.

mod catalogue;
mod log;
mod metrics;
mod process;
mod trace;

pub use log::{Format, LogError, start};
pub use metrics::{Metrics, UPKEEP};
pub use trace::{Collector, TraceError, Traces, answered, request};
