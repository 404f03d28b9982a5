//! The payments in the store. The first request with a payment claims it; every request with the same payment has the
//! same outcome; no payment is settled twice.

use std::time::Duration;

use chrono::Utc;
use tokio::time::{Instant, timeout};

use super::{
    Payment, Refused, X402,
    records::{self, OPEN_PAYMENTS, OrderRecord, PaymentRecord, PaymentState},
    verify::used,
};
use assay_domain::{B256, PaymentId};
use assay_outbox::payment::{AuthorizationUse, PaymentError};
use assay_store::{Batch, Lease, StoreError, Versioned};

/// Time between two reads of a payment that another process may settle.
const POLL: Duration = Duration::from_millis(200);

/// A payment that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub id: PaymentId,
    pub transaction: B256,
}

/// A payment that has not arrived.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    #[error("{}", .0.detail)]
    Refused(Refused),
    /// It may still arrive. The client presents it again.
    #[error("The payment is being settled; present the same payment again, and do not sign another one")]
    Pending,
    /// It could not be checked; nothing was done.
    #[error("{0}")]
    Unavailable(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Refused> for PayError {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<PaymentError> for PayError {
    fn from(error: PaymentError) -> Self {
        Self::Unavailable(error.to_string())
    }
}

impl X402 {
    /// Whether `payment` was claimed before, and not refused.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn is_known(&self, payment: &Payment) -> Result<bool, StoreError> {
        let known = self.inner.store.get(&records::payment(&self.id(payment))).await?;
        Ok(known.is_some_and(|record| !record.may_be_claimed() && record.is_of(payment)))
    }

    /// Settles `payment` for the request with this digest, once. `resource` is the URL that it pays for.
    ///
    /// # Errors
    /// [`PayError`].
    pub async fn settle(&self, payment: &Payment, request: B256, resource: &str) -> Result<Settled, PayError> {
        let (id, deadline) = (self.id(payment), Instant::now() + self.inner.settle_timeout);
        let mut changes = self.inner.changed.subscribe();
        let mut waited = false;
        loop {
            changes.mark_unchanged();
            let found = self.inner.store.read(&records::payment(&id)).await?;
            match &found.value {
                Some(record) if !record.may_be_claimed() => {
                    if !record.is_of(payment) {
                        return Err(used().into());
                    }
                    if record.request.is_some_and(|of| of != request) {
                        return Err(Refused::spent().into());
                    }
                    if let PaymentState::Settled { transaction, .. } = record.state {
                        return Ok(Settled { id, transaction });
                    }
                }
                Some(PaymentRecord { state: PaymentState::Refused { reason, detail }, .. }) if waited => {
                    return Err(Refused { tried: true, ..Refused::new(reason.clone(), detail.clone()) }.into());
                }
                _ => {
                    // The next read of the record decides, whether or not the claim succeeded.
                    self.claim(payment, request, resource, found).await?;
                    waited = true;
                    continue;
                }
            }
            waited = true;
            if Instant::now() >= deadline {
                return Err(PayError::Pending);
            }
            // After a timeout or a change, the next read of the record decides.
            let _ = timeout(POLL, changes.changed()).await;
        }
    }

    /// Stores a payment as open, if it can be settled and no other process stored it meanwhile.
    async fn claim(
        &self,
        payment: &Payment,
        request: B256,
        resource: &str,
        found: Versioned<PaymentRecord>,
    ) -> Result<(), PayError> {
        let mut record = self.open_record(payment, request, resource);
        let (id, key) = (record.id, records::payment(&record.id));
        let earlier = found.value.filter(|earlier| earlier.is_of(payment));
        let arrived = match &earlier {
            Some(earlier) => self.arrived_late(earlier).await?,
            None => None,
        };
        match arrived {
            Some(transaction) => {
                record.start = earlier.and_then(|earlier| earlier.start);
                record.state = PaymentState::Settled { transaction, submission: None };
            }
            None => match self.verify(payment, resource).await {
                Ok(start) => record.start = start,
                // Another caller claimed the same payment meanwhile and perhaps settled it: that is why it is refused now.
                Err(PayError::Refused(_)) if self.inner.store.read(&key).await?.revision != found.revision => {
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
        }
        let mut batch = Batch::new().if_unchanged(&key, found.revision).put(&key, &record)?;
        if record.is_open() {
            batch = batch.put(&records::open_payment(record.claimed_at, &id), &id)?;
        }
        if self.inner.store.commit(batch).await? {
            self.inner.claimed.notify_one();
        }
        Ok(())
    }

    /// The record of a payment that is claimed now for `request`.
    fn open_record(&self, payment: &Payment, request: B256, resource: &str) -> PaymentRecord {
        let now = Utc::now();
        PaymentRecord {
            id: self.id(payment),
            authorization: payment.authorization,
            signature: payment.signature.clone(),
            request: Some(request),
            claimed_at: now,
            updated_at: now,
            start: None,
            state: PaymentState::Open,
            slot: None,
            order: self.inner.facilitator.as_ref().map(|_| OrderRecord {
                version: payment.version.number(),
                payload: payment.payload.clone(),
                requirements: self.terms().requirements(payment.version, resource),
            }),
            attempts: 0,
            next_at: now,
            trouble: None,
        }
    }

    /// The transaction of a refused payment that arrived later: the facilitator settled it after its error.
    async fn arrived_late(&self, record: &PaymentRecord) -> Result<Option<B256>, PayError> {
        let (Some(asset), Some(start)) = (&self.inner.asset, record.start) else { return Ok(None) };
        let (settled, _) = asset.settled().await?;
        match asset.authorization_use(&record.authorization, start, settled).await? {
            AuthorizationUse::Paid(transaction) => Ok(Some(transaction)),
            AuthorizationUse::Elsewhere => Ok(None),
            // It was used and lacks confirmations: the client must not sign another payment now.
            AuthorizationUse::Unused | AuthorizationUse::Unknown
                if asset.authorization_state(&record.authorization).await?.used =>
            {
                Err(PayError::Pending)
            }
            AuthorizationUse::Unused | AuthorizationUse::Unknown => Ok(None),
        }
    }

    /// Every open payment, oldest first.
    pub(super) async fn open_payments(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::payment(&id)).collect();
        metrics::gauge!("assay_payments_open").set(keys.len() as f64);
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// Saves an open payment with its new state; `false` when the lease is lost, and the caller must stop.
    pub(super) async fn save(&self, lease: &Lease, record: &mut PaymentRecord) -> Result<bool, StoreError> {
        record.updated_at = Utc::now();
        let mut batch = Batch::new().if_leased(lease).put(&records::payment(&record.id), record)?;
        if !record.is_open() {
            batch = batch.remove(&records::open_payment(record.claimed_at, &record.id));
        }
        if !self.inner.store.commit(batch).await? {
            return Ok(false);
        }
        match &record.state {
            PaymentState::Open => return Ok(true),
            PaymentState::Settled { transaction, .. } => {
                metrics::counter!("assay_payments_total", "outcome" => "settled").increment(1);
                tracing::info!(payer = %record.id.from, nonce = %record.id.nonce, %transaction, "payment settled");
            }
            PaymentState::Refused { reason, detail } => {
                metrics::counter!("assay_payments_total", "outcome" => "refused").increment(1);
                tracing::info!(payer = %record.id.from, nonce = %record.id.nonce, reason, detail, "payment not settled");
            }
        }
        self.inner.changed.send_replace(());
        Ok(true)
    }
}

impl PaymentRecord {
    /// A refused payment may be presented again.
    fn may_be_claimed(&self) -> bool {
        matches!(self.state, PaymentState::Refused { .. })
    }

    /// The record is of exactly this payment, which was valid when it was claimed.
    fn is_of(&self, payment: &Payment) -> bool {
        (self.authorization, &self.signature) == (payment.authorization, &payment.signature)
    }

    pub(super) fn settled(&mut self, transaction: B256) {
        (self.state, self.slot, self.trouble) = (PaymentState::Settled { transaction, submission: None }, None, None);
    }

    pub(super) fn refused(&mut self, refused: Refused) {
        (self.state, self.slot) =
            (PaymentState::Refused { reason: refused.reason.into_owned(), detail: refused.detail }, None);
    }
}
