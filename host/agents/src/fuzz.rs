//! For fuzz targets: reads the events of an identity registry.

use alloy::rpc::types::Log;

use crate::registries::event;
use assay_evm::logs::{Received, in_order};

/// Reads an answer to `eth_getLogs`, and returns the number of agent events in it.
pub fn logs(answer: &[u8]) -> usize {
    let Ok(received) = serde_json::from_slice::<Vec<Received>>(answer) else { return 0 };
    let mut logs: Vec<Log> = received.into_iter().map(|Received(log)| log).collect();
    in_order(&mut logs);
    logs.iter().filter_map(event).count()
}
