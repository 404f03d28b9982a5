//! Mines blocks on top of transactions, so that the transactions are confirmed. Without transactions it mines none,
//! because the node keeps the state of each block in memory.

use std::time::Duration;

use serde_json::{Value, json};

use crate::devnet::Rpc;

/// Blocks on top of the last transaction: more than a submission or a payment waits for.
const ON_TOP: u64 = 4;
/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Runs until it is dropped. A node that does not answer is asked again.
pub async fn confirm(rpc: Rpc) {
    let mut due = 0;
    loop {
        tokio::time::sleep(PAUSE).await;
        let Ok(newest) = rpc.request::<Value>("eth_getBlockByNumber", json!(["latest", false])).await else { continue };
        if newest["transactions"].as_array().is_some_and(|all| !all.is_empty()) {
            due = ON_TOP;
        }
        if due > 0 && rpc.request::<Value>("anvil_mine", json!(["0x1"])).await.is_ok() {
            due -= 1;
        }
    }
}
