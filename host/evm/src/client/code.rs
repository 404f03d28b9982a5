//! Which addresses have no code.

use std::collections::BTreeSet;

use alloy::primitives::Bytes;
use serde_json::json;

use super::Client;
use crate::{fault::Fault, request::pinned};
use assay_domain::{Address, B256};

impl Client {
    /// Those of `addresses` without code in the state after block `at`.
    ///
    /// # Errors
    /// [`Fault`] if the chain did not answer for one of them.
    pub async fn without_code(&self, addresses: &[Address], at: B256) -> Result<BTreeSet<Address>, Fault> {
        if addresses.is_empty() {
            return Ok(BTreeSet::new());
        }
        let asks = addresses.iter().map(|address| ("eth_getCode", json!([address, pinned(at)]))).collect();
        let mut found = BTreeSet::new();
        for (address, code) in addresses.iter().zip(self.batch(asks).await?) {
            let code: Bytes = serde_json::from_value(code?).map_err(|error| Fault::unreadable(&error))?;
            if code.is_empty() {
                found.insert(*address);
            }
        }
        Ok(found)
    }
}
