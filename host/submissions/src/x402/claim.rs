//! The writes about a payment: its claim, before any money moves, and each later state with what it bought.

use std::time::Duration;

use alloy::primitives::U256;
use chrono::Utc;

use super::{
    PayError, Payment, Refused, X402,
    records::{self, OPEN_PAYMENTS, OrderRecord, PaymentRecord, PaymentState, PurchaseRecord},
    terms::Item,
    verify::unix_now,
};
use assay_domain::{B256, PaymentId};
use assay_outbox::payment::AuthorizationUse;
use assay_store::{Batch, Lease, StoreError};

/// How long a payer counts as one that has paid here.
const PROVEN: Duration = Duration::from_secs(90 * 86_400);
/// How long another payment for the same request finds a settled one that has bought nothing.
const UNFETCHED: Duration = Duration::from_secs(86_400);

impl X402 {
    /// Stores a payment as open, if it can be settled and no other process stored it, or another payment of the same
    /// payer for the same request, meanwhile.
    pub(super) async fn claim(
        &self,
        payment: &Payment,
        purchase: &PurchaseRecord,
        resource: &str,
    ) -> Result<(), PayError> {
        let mut record = self.open_record(payment, purchase, resource);
        let (id, key) = (record.id, records::payment(&record.id));
        let found = self.inner.store.read(&key).await?;
        // Another caller claimed it after this one looked. A second claim would settle and hand over once more.
        if found.value.as_ref().is_some_and(|earlier| !earlier.may_be_claimed()) {
            return Ok(());
        }
        let same = records::payment_for(&id, purchase);
        let sibling = self.inner.store.read(&same).await?;
        let earlier = found.value.filter(|earlier| earlier.authorization == payment.authorization);
        if !self.arrived_late(earlier, &mut record).await? {
            match self.verify(payment, purchase.item(), resource).await {
                Ok(start) => record.start = start,
                // Another caller claimed the same payment meanwhile and perhaps settled it: that is why it is refused
                // now.
                Err(PayError::Refused(_)) if self.inner.store.read(&key).await?.revision != found.revision => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        let batch = Batch::new().if_unchanged(&key, found.revision).if_unchanged(&same, sibling.revision);
        let batch = batch.put(&key, &record)?.put_expiring(&same, &id, life(&record))?;
        let is_open = record.is_open();
        let batch = if is_open { batch.put(&records::open_payment(record.claimed_at, &id), &id)? } else { batch };
        if self.inner.store.commit(batch).await? {
            self.inner.claimed.notify_one();
        }
        Ok(())
    }

    /// The record of a payment that is claimed now for `purchase`.
    fn open_record(&self, payment: &Payment, purchase: &PurchaseRecord, resource: &str) -> PaymentRecord {
        let now = Utc::now();
        PaymentRecord {
            id: self.id(payment),
            authorization: payment.authorization,
            signature: payment.signature.clone(),
            request: purchase.digest,
            purchase: Some(purchase.clone()),
            claimed_at: now,
            updated_at: now,
            start: None,
            state: PaymentState::Open,
            slot: None,
            by_contract: false,
            unproven: false,
            reverted: false,
            order: self.inner.facilitator.as_ref().map(|_| OrderRecord {
                version: payment.version.number(),
                payload: payment.payload.clone(),
                requirements: self.terms().requirements(purchase.item(), payment.version, resource),
            }),
            attempts: 0,
            next_at: now,
            trouble: None,
        }
    }

    /// Settles `record` by the transaction of `earlier`, a refused payment that arrived later, where there is one: the
    /// facilitator settled it after its error.
    async fn arrived_late(&self, earlier: Option<PaymentRecord>, record: &mut PaymentRecord) -> Result<bool, PayError> {
        let start = earlier.and_then(|earlier| earlier.start);
        let (Some(asset), Some(from)) = (&self.inner.asset, start) else { return Ok(false) };
        if self.is_local() {
            return Ok(false);
        }
        let (settled, _) = asset.settled().await?;
        match asset.authorization_use(&record.authorization, from, settled).await? {
            AuthorizationUse::Paid(transaction) => {
                record.start = start;
                record.settled(transaction);
                Ok(true)
            }
            AuthorizationUse::Elsewhere => Ok(false),
            // It was used and lacks confirmations: the client must not sign another payment now.
            AuthorizationUse::Unused | AuthorizationUse::Unknown
                if asset.authorization_state(&record.authorization).await?.used =>
            {
                Err(PayError::Pending)
            }
            AuthorizationUse::Unused | AuthorizationUse::Unknown => Ok(false),
        }
    }

    /// Every payment with work left, oldest first.
    pub(super) async fn open_payments(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::payment(&id)).collect();
        metrics::gauge!("assay_payments_open").set(keys.len() as f64);
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// The open payments of the payer of `payment`, without that payment.
    pub(super) async fn open_beside(&self, payment: &PaymentId) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?.into_iter().map(|(_, id)| id);
        let beside = ids.filter(|id| id.from == payment.from && id != payment);
        let keys: Vec<_> = beside.map(|id| records::payment(&id)).collect();
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// Whether the payer of `payment` has paid here, and no transfer of it was reverted since.
    pub(super) async fn has_paid(&self, payment: &PaymentId) -> Result<bool, StoreError> {
        Ok(self.inner.store.get(&records::settled_payer(payment)).await?.is_some())
    }

    /// Saves an open payment with its new state, and with it what it bought and the gas of a reverted transfer; `false`
    /// when the lease is lost, and the caller must stop.
    pub(super) async fn save(
        &self,
        lease: &Lease,
        record: &mut PaymentRecord,
        reverted: Option<u64>,
    ) -> Result<bool, StoreError> {
        record.updated_at = Utc::now();
        let mut batch = Batch::new().if_leased(lease);
        if let PaymentState::Settled { bought: bought @ None, .. } = &mut record.state
            && let Some(purchase) = &record.purchase
        {
            (batch, *bought) = self.inner.goods.fulfil(batch, record.id, purchase).await?;
            if bought.is_none() {
                // Whoever paid and has nothing for it yet is not to pay again.
                batch = batch.put_expiring(&records::payment_for(&record.id, purchase), &record.id, UNFETCHED)?;
            }
        }
        if let Some(gas) = reverted {
            batch = self.count_reverted(batch, record, gas).await?.remove(&records::settled_payer(&record.id));
        } else if let PaymentState::Settled { .. } = record.state {
            batch = batch.put_expiring(&records::settled_payer(&record.id), &record.updated_at, PROVEN)?;
        }
        batch = batch.put(&records::payment(&record.id), record)?;
        if !record.is_open() {
            batch = batch.remove(&records::open_payment(record.claimed_at, &record.id));
        }
        if !self.inner.store.commit(batch).await? {
            return Ok(false);
        }
        self.tell(record);
        Ok(true)
    }

    /// Reports the end of a payment.
    fn tell(&self, record: &PaymentRecord) {
        let (payer, nonce) = (record.id.from, record.id.nonce);
        match &record.state {
            PaymentState::Open => return,
            PaymentState::Settled { transaction, .. } => {
                metrics::counter!("assay_payments_total", "outcome" => "settled").increment(1);
                if record.purchase.as_ref().is_some_and(|purchase| purchase.item() == Item::Submission) {
                    metrics::counter!("assay_submissions_total", "status" => "pending").increment(1);
                }
                tracing::info!(%payer, %nonce, %transaction, "payment settled");
            }
            PaymentState::Refused { reason, detail } => {
                metrics::counter!("assay_payments_total", "outcome" => "refused").increment(1);
                tracing::info!(%payer, %nonce, reason, detail, "payment not settled");
            }
        }
        self.inner.changed.send_replace(());
    }

    /// Refuses `record` for a transfer that moved the money and that no transaction of this server made: another server
    /// with the same `pay_to` may have sold something for it.
    pub(super) fn refuse_foreign(&self, record: &mut PaymentRecord, transaction: B256) {
        tracing::warn!(payer = %record.id.from, %transaction, "another account transferred the money of a payment");
        let detail =
            format!("The money arrived by transaction {transaction}, which this server did not send; ask its operator");
        record.refused(Refused::new(super::reason::USED, detail));
        // It cannot be settled any more.
        record.reverted = true;
    }
}

/// How long another payment for the same request finds this one: as long as its signature holds.
pub(super) fn life(record: &PaymentRecord) -> Duration {
    let left = record.authorization.valid_before.saturating_sub(U256::from(unix_now()));
    Duration::from_secs(u64::try_from(left).unwrap_or(u64::MAX).clamp(1, 2 * 86_400))
}
