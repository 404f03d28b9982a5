//! For fuzz targets: every reader of logs on the same bytes.

use alloy::rpc::types::Log;

use crate::activity;
use assay_evm::logs::{Received, in_order};

/// Reads an answer to `eth_getLogs` with every reader; the number of values that were read.
pub fn logs(answer: &[u8]) -> usize {
    let Ok(received) = serde_json::from_slice::<Vec<Received>>(answer) else { return 0 };
    let mut logs: Vec<Log> = received.into_iter().map(|Received(log)| log).collect();
    in_order(&mut logs);
    let moved: usize = logs.iter().map(|log| activity::rows(log).len()).sum();
    moved + assay_lending::fuzz::count(&logs)
}
