//! The gas that transfers of payers may cost while they move no money. A transfer is signed only where the chain
//! confirms it, but a payer may make it fail afterwards.

use alloy::primitives::Address;
use chrono::Utc;

use super::X402;
use crate::config;
use assay_domain::Time;
use assay_store::{Batch, Family, Key, StoreError};

/// How long the sum of a day is stored.
const KEPT: std::time::Duration = std::time::Duration::from_secs(2 * 86_400);

/// The limits of a day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    payer: u64,
    all: u64,
}

/// The gas that may still be lost today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    /// By this payer's transfers.
    pub payer: u64,
    /// By the transfers of all contracts.
    pub all: u64,
}

impl Budget {
    pub fn new(config: &config::X402) -> Self {
        Self { payer: config.payer_reverted_gas, all: config.reverted_gas }
    }
}

/// Gas of reverted transfers on the day of `now`, of one payer or of all.
fn reverted(now: Time, payer: Option<Address>) -> Key<u64> {
    let day = now.timestamp().div_euclid(86_400);
    let whose = payer.map_or_else(|| "all".to_owned(), |payer| format!("{payer:#x}"));
    Family::new("payment-reverted/").key(format_args!("{day}/{whose}"))
}

impl X402 {
    /// # Errors
    /// The store's failure.
    pub(super) async fn gas_left(&self, payer: Address) -> Result<Left, StoreError> {
        let (now, budget) = (Utc::now(), self.inner.budget);
        let spent = self.inner.store.get_many(&[reverted(now, Some(payer)), reverted(now, None)]).await?;
        let spent = |at: usize| spent.get(at).copied().flatten().unwrap_or_default();
        Ok(Left { payer: budget.payer.saturating_sub(spent(0)), all: budget.all.saturating_sub(spent(1)) })
    }

    /// Adds the gas of a reverted transfer to `batch`.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn count_reverted(&self, mut batch: Batch, payer: Address, gas: u64) -> Result<Batch, StoreError> {
        let now = Utc::now();
        for key in [reverted(now, Some(payer)), reverted(now, None)] {
            let spent = self.inner.store.get(&key).await?.unwrap_or_default();
            batch = batch.put_expiring(&key, &spent.saturating_add(gas), KEPT)?;
        }
        Ok(batch)
    }
}
