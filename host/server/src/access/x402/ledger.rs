//! The book of payments: one who presents a payment claims it, all who present it learn what becomes of it, and none of
//! them can have it settled twice.

use crate::access::x402::records::{self, OPEN_PAYMENTS, OrderRecord, PaymentRecord, PaymentState};
use std::time::Duration;

use chrono::Utc;
use tokio::time::{Instant, timeout};

use super::{Payment, Refused, X402, verify::used};
use assay_domain::{B256, PaymentId};
use assay_outbox::payment::{AuthorizationUse, PaymentError};
use assay_store::{Batch, Lease, StoreError, Versioned};

/// Time between two looks at a payment that another process may settle.
const LOOK: Duration = Duration::from_millis(200);

/// A payment that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub id: PaymentId,
    pub transaction: B256,
}

/// A payment that has not.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    #[error("{}", .0.detail)]
    Refused(Refused),
    /// It may still arrive. Presenting it again tells.
    #[error("The payment is being settled; present the same payment again, and do not sign another one")]
    Pending,
    /// Nothing was done about it.
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
    /// Whether it was claimed before, and not refused.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn is_known(&self, payment: &Payment) -> Result<bool, StoreError> {
        let known = self.inner.store.get(&records::payment(&self.id(payment))).await?;
        Ok(known.is_some_and(|record| !record.may_be_claimed() && record.is_of(payment)))
    }

    /// Has `payment` settled for the request with this digest, unless it is already. `resource` is what it pays for.
    ///
    /// # Errors
    /// [`PayError`].
    pub async fn settle(&self, payment: &Payment, request: B256, resource: &str) -> Result<Settled, PayError> {
        let (id, deadline) = (self.id(payment), Instant::now() + self.inner.patience);
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
                    // Whether or not the claim went through, the record says what is next.
                    self.claim(payment, request, resource, found).await?;
                    waited = true;
                    continue;
                }
            }
            waited = true;
            if Instant::now() >= deadline {
                return Err(PayError::Pending);
            }
            // The time is up, or something has changed: both are seen in the record.
            let _ = timeout(LOOK, changes.changed()).await;
        }
    }

    /// Writes a payment down as being on its way, if it can be settled and nobody else did.
    async fn claim(
        &self,
        payment: &Payment,
        request: B256,
        resource: &str,
        found: Versioned<PaymentRecord>,
    ) -> Result<(), PayError> {
        let (id, now) = (self.id(payment), Utc::now());
        let mut record = PaymentRecord {
            id,
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
        };
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
                // Presented by somebody else too, it was claimed meanwhile and perhaps settled, which is why it cannot
                // be now.
                Err(PayError::Refused(_))
                    if self.inner.store.read(&records::payment(&id)).await?.revision != found.revision =>
                {
                    return Ok(());
                }
                Err(error) => return Err(error),
            },
        }
        let mut batch =
            Batch::new().if_unchanged(&records::payment(&id), found.revision).put(&records::payment(&id), &record)?;
        if record.is_open() {
            batch = batch.put(&records::open_payment(now, &id), &id)?;
        }
        if self.inner.store.commit(batch).await? {
            self.inner.news.notify_one();
        }
        Ok(())
    }

    /// The transaction of a payment that was refused, and arrived all the same: who was told to settle it did so later.
    async fn arrived_late(&self, record: &PaymentRecord) -> Result<Option<B256>, PayError> {
        let (Some(asset), Some(start)) = (&self.inner.asset, record.start) else { return Ok(None) };
        let (settled, _) = asset.settled().await?;
        match asset.authorization_use(&record.authorization, start, settled).await? {
            AuthorizationUse::Paid(transaction) => Ok(Some(transaction)),
            AuthorizationUse::Elsewhere => Ok(None),
            // A moment ago, without its confirmations: this is no time to sign another payment.
            AuthorizationUse::Unused | AuthorizationUse::Unknown
                if asset.authorization_state(&record.authorization).await?.used =>
            {
                Err(PayError::Pending)
            }
            AuthorizationUse::Unused | AuthorizationUse::Unknown => Ok(None),
        }
    }

    /// Every payment on its way, oldest first.
    pub(super) async fn on_the_way(&self) -> Result<Vec<PaymentRecord>, StoreError> {
        let ids = self.inner.store.list(&OPEN_PAYMENTS).await?;
        let keys: Vec<_> = ids.into_iter().map(|(_, id)| records::payment(&id)).collect();
        metrics::gauge!("assay_payments_open").set(keys.len() as f64);
        Ok(self.inner.store.get_many(&keys).await?.into_iter().flatten().filter(PaymentRecord::is_open).collect())
    }

    /// Writes down what became of a payment on its way; `false` where the lease is lost, and nothing may be done any
    /// more.
    pub(super) async fn write(&self, lease: &Lease, record: &mut PaymentRecord) -> Result<bool, StoreError> {
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
    /// Nothing of it is on its way or was bought.
    fn may_be_claimed(&self) -> bool {
        matches!(self.state, PaymentState::Refused { .. })
    }

    /// It is this very payment, and so was found good when it was claimed.
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
