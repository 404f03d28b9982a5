//! The gas that transfers of payers may cost while they move no money. A transfer is signed only where the chain
//! confirms it, but a payer may make it fail afterwards.

use alloy::primitives::Address;
use chrono::{DurationRound, TimeDelta, Utc};

use super::{X402, records::PaymentRecord};
use crate::config;
use assay_domain::Time;
use assay_store::{Batch, Family, Key, StoreError};

/// How long the sum of a day or an hour is stored.
const KEPT: std::time::Duration = std::time::Duration::from_secs(2 * 86_400);

/// The gas that may be lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Budget {
    payer: u64,
    contracts: u64,
    hour: u64,
}

/// The gas that may still be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Left {
    /// Today, by this payer's transfers.
    pub payer: u64,
    /// Today, by the transfers of all contracts.
    pub contracts: u64,
    /// In this hour, by the transfers of all accounts without code.
    pub hour: u64,
}

impl Budget {
    pub(super) fn new(config: &config::X402) -> Self {
        Self { payer: config.payer_reverted_gas, contracts: config.reverted_gas, hour: config.hourly_reverted_gas }
    }
}

/// Gas of reverted transfers on the day of `now`, of one payer or of all contracts.
fn in_day(now: Time, payer: Option<Address>) -> Key<u64> {
    let day = now.timestamp().div_euclid(86_400);
    let whose = payer.map_or_else(|| "all".to_owned(), |payer| format!("{payer:#x}"));
    Family::new("payment-reverted/").key(format_args!("{day}/{whose}"))
}

/// Gas spent on reverted transfers of accounts without code, in the hour of `now`.
fn in_hour(now: Time) -> Key<u64> {
    Family::new("payment-reverted/").key(format_args!("hour/{}", now.timestamp().div_euclid(3_600)))
}

/// The end of the hour of `now`.
pub(super) fn end_of_hour(now: Time) -> Time {
    let hour = TimeDelta::hours(1);
    now.duration_trunc(hour).unwrap_or(now) + hour
}

impl X402 {
    /// # Errors
    /// The store's failure.
    pub(super) async fn gas_left(&self, payer: Address) -> Result<Left, StoreError> {
        let (now, budget) = (Utc::now(), self.inner.budget);
        let spent = self.inner.store.get_many(&[in_day(now, Some(payer)), in_day(now, None), in_hour(now)]).await?;
        let spent = |at: usize| spent.get(at).copied().flatten().unwrap_or_default();
        Ok(Left {
            payer: budget.payer.saturating_sub(spent(0)),
            contracts: budget.contracts.saturating_sub(spent(1)),
            hour: budget.hour.saturating_sub(spent(2)),
        })
    }

    /// Adds the gas of the reverted transfer of `record` to `batch`.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn count_reverted(
        &self,
        mut batch: Batch,
        record: &PaymentRecord,
        gas: u64,
    ) -> Result<Batch, StoreError> {
        let (now, budget) = (Utc::now(), self.inner.budget);
        let of_all = if record.by_contract { in_day(now, None) } else { in_hour(now) };
        let keys = [in_day(now, Some(record.id.from)), of_all];
        let spent = self.inner.store.get_many(&keys).await?;
        let sums: Vec<u64> = spent.into_iter().map(|spent| spent.unwrap_or_default().saturating_add(gas)).collect();
        for (key, sum) in keys.iter().zip(&sums) {
            batch = batch.put_expiring(key, sum, KEPT)?;
        }
        if !record.by_contract && sums.last().is_some_and(|sum| *sum >= budget.hour) {
            tracing::warn!(
                "reverted transfers have used access.x402.hourly_reverted_gas: until the hour ends, only accounts that \
                 have paid here before can pay. Set access.x402.facilitator to the URL of a facilitator, or raise the \
                 limit"
            );
        }
        Ok(batch)
    }
}
