//! The log, the metrics and the traces of a running server.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod catalogue;
pub mod config;
mod log;
mod metrics;
mod process;
mod trace;

pub use log::{Format, LogError, start};
pub use metrics::{Metrics, UPKEEP};
pub use trace::{Collector, TraceError, Traces, answered, request};
