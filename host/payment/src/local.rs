//! Settles payments with the account of submissions. The worker of that account calls this, under its lease and with
//! its read of the chain. Each payment has at most one nonce at a time, which is kept until it is settled, and every
//! transaction is saved before it is sent.

use super::{
    X402,
    queue::{in_turns, parties},
    records::PaymentRecord,
    transfer::Transfers,
};
use assay_outbox::{
    gas::{Ledger, NativePrice, Party, Spent},
    nonce::{Outbox, Round},
};
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
    pub async fn news(&self) {
        self.x402.inner.claimed.notified().await;
    }

    /// Every open payment, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn open(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        self.x402.open_payments().await
    }

    /// The parties of `open`.
    pub fn parties(open: &[PaymentRecord]) -> impl Iterator<Item = Party> {
        parties(open)
    }

    /// Does the next step of each of `open`. `false` when the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn run(
        &self,
        lease: &Lease,
        (round, ledger, price): (&mut Round<'_>, &mut Ledger, NativePrice),
        open: Vec<PaymentRecord>,
    ) -> Result<bool, StoreError> {
        let Some(asset) = &self.x402.inner.asset else { return Ok(true) };
        let most = self.outbox.rules().most;
        let open = in_turns(open, ledger);
        let mut transfers = Transfers::new(&self.x402, asset, (round, ledger, price), &open, most);
        for mut record in open {
            let before = record.clone();
            let step = match transfers.step(&mut record).await {
                Ok(step) => step,
                Err(error) => {
                    record.trouble = Some(error.to_string());
                    Default::default()
                }
            };
            if record != before && !self.x402.save(lease, &mut record, step.spent).await? {
                return Ok(false);
            }
            if let Some(signed) = step.send
                && let Err(error) = self.outbox.send(&signed).await
            {
                record.trouble = Some(error.to_string());
                if record.trouble != before.trouble && !self.x402.save(lease, &mut record, Spent::default()).await? {
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
