//! What an operator sees of a running server: its log and its metrics.

mod log;
mod metrics;
mod process;

pub use log::{LogError, log_to_stderr};
pub use metrics::{Metrics, UPKEEP};
