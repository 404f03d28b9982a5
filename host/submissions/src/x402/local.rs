//! Settles payments with the account of submissions. The worker of that account calls this, under its lease and with
//! its look at the chain. Each payment has at most one nonce at a time, which is kept until it is settled, and every
//! transaction is saved before it is sent.

use std::collections::HashMap;

use super::{Refused, X402, records::PaymentRecord, transfer::Transfers};
use assay_domain::{Address, U256};
use assay_outbox::nonce::{Outbox, Round};
use assay_store::{Lease, StoreError};

/// Settles the payments of one account. Cheap to clone.
#[derive(Clone)]
pub struct Local {
    x402: X402,
    outbox: Outbox,
}

impl Local {
    pub fn new(x402: X402, outbox: Outbox) -> Self {
        Self { x402, outbox }
    }

    /// Completes when a payment may have been claimed.
    pub(crate) async fn news(&self) {
        self.x402.inner.claimed.notified().await;
    }

    /// Every open payment, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        self.x402.open_payments().await
    }

    /// Does the next step of each of `open`. `false` when the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn run(
        &self,
        lease: &Lease,
        round: &mut Round<'_>,
        open: Vec<PaymentRecord>,
    ) -> Result<bool, StoreError> {
        let Some(asset) = &self.x402.inner.asset else { return Ok(true) };
        let mut transfers = Transfers::new(&self.x402, asset, round, &open, self.outbox.rules().most);
        for mut record in in_turns(open) {
            let before = record.clone();
            let step = match transfers.step(&mut record).await {
                Ok(step) => step,
                Err(error) => {
                    record.trouble = Some(error.to_string());
                    Default::default()
                }
            };
            if record != before && !self.x402.save(lease, &mut record, step.reverted).await? {
                return Ok(false);
            }
            if let Some(signed) = step.send
                && let Err(error) = self.outbox.send(&signed).await
            {
                record.trouble = Some(error.to_string());
                if record.trouble != before.trouble && !self.x402.save(lease, &mut record, None).await? {
                    return Ok(false);
                }
            }
            if let Some(trouble) = record.trouble.as_ref().filter(|_| record.trouble != before.trouble) {
                tracing::warn!(payer = %record.id.from, trouble, "a payment waits");
            }
        }
        Ok(true)
    }
}

/// The payments with one of each payer first, then the second of each, and so on: who presents many waits for the
/// others.
fn in_turns(open: Vec<PaymentRecord>) -> Vec<PaymentRecord> {
    let mut of_payer = HashMap::<Address, usize>::new();
    let mut turns: Vec<(usize, PaymentRecord)> = Vec::with_capacity(open.len());
    for record in open {
        let turn = of_payer.entry(record.id.from).or_default();
        turns.push((*turn, record));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, record)| record).collect()
}

impl PaymentRecord {
    /// Whether the signature has expired by more than the clocks may differ.
    pub(super) fn is_expired(&self, now: u64, skew: u64) -> bool {
        self.authorization.valid_before < U256::from(now.saturating_sub(skew))
    }

    /// Refuses a payment whose transfer did not come to the chain.
    pub(super) fn not_landed(&mut self) {
        self.refused(Refused::not_landed());
    }
}
