//! Accepting a submission: the record, its place among the open ones, the units or payment, and the caller's
//! `Idempotency-Key` are stored in one write, or nothing is.

use uuid::Uuid;

use super::{
    Barred, Reputation,
    factory::SubmissionFactory,
    records::{self, RetryRecord, SubmissionRecord},
    request::{REMEMBERED, Request},
};
use crate::{
    feedback::Subject,
    x402::{
        records::{self as payments, PaymentRecord, PaymentState},
        spend,
    },
};
use assay_access::records::{self as access, Payer};
use assay_outbox::sender::SenderError;
use assay_store::{Batch, Revision, StoreError};

/// Attempts at the write, where other writes come first.
const TRIES: usize = 4;

/// Why a submission was not accepted. Nothing was spent.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Agent {0} does not exist in the Identity Registry")]
    NoAgent(u64),
    #[error("This service's account owns agent {0} or acts for it, so that the registry refuses its feedback")]
    OwnAgent(u64),
    #[error(transparent)]
    Barred(Barred),
    #[error("the identity registry cannot be read: {0}")]
    Registry(SenderError),
    /// The key does not have enough units left.
    #[error("the units of the key are used up")]
    Unpaid { cost: u64, used: u64, limit: u64 },
    #[error("This Idempotency-Key was used for another request")]
    OtherRequest,
    #[error("the payment has not been settled, or paid for another request")]
    NotPaid,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Reputation {
    /// Accepts `request`, or finds the submission that the same request with the same `Idempotency-Key` or payment
    /// began. A payment is settled before this call.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn submit(&self, request: Request) -> Result<SubmissionRecord, SubmitError> {
        if let Some(earlier) = self.earlier(&request).await? {
            return Ok(earlier);
        }
        self.require_open(&request).await?;
        let factory = SubmissionFactory::new(self.inner.store.clone(), self.inner.effects.client());
        let record = factory.record(&request, factory.ahead().await?);
        for _ in 0..TRIES {
            let batch = self
                .kept(Batch::new(), &record)?
                .put(&records::open_submission(record.created_at, record.id), &record.id)?;
            let mut batch = self.listed(self.paid(batch, &request, record.id).await?, &record)?;
            if let Some(key) = request.retry() {
                let retry = RetryRecord { submission: record.id, request: request.digest() };
                batch = batch.if_unchanged(&key, Revision::ABSENT).put_expiring(&key, &retry, REMEMBERED)?;
            }
            if self.inner.store.commit(batch).await? {
                metrics::counter!("assay_submissions_total", "status" => "pending").increment(1);
                self.inner.accepted.notify_one();
                return Ok(record);
            }
            if let Some(earlier) = self.earlier(&request).await? {
                return Ok(earlier);
            }
            if let Payer::Key { meter, units: cost, limit: Some(limit) } = &request.payer {
                let (cost, limit) = (*cost, *limit);
                let used = self.inner.store.get(&access::units(meter)).await?.unwrap_or_default();
                if used.saturating_add(cost) > limit {
                    return Err(SubmitError::Unpaid { cost, used, limit });
                }
            }
        }
        Err(StoreError::Failed { reason: "other writes to the same records came first; try again".into() }.into())
    }

    /// Checks that the registry would take feedback for the agent from the account, and that neither the agent nor its
    /// owner nor the payer has cost too much gas. It is checked before a payment is settled and before anything is
    /// scored.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub async fn require_open(&self, request: &Request) -> Result<(), SubmitError> {
        let agent_id = request.agent_id;
        match self.inner.effects.subject(agent_id).await.map_err(SubmitError::Registry)? {
            Subject::Missing => Err(SubmitError::NoAgent(agent_id)),
            Subject::Own => Err(SubmitError::OwnAgent(agent_id)),
            Subject::Other(owner) => {
                let barred = self.barred(agent_id, Some(owner), &request.payer).await?;
                barred.map_or(Ok(()), |barred| Err(SubmitError::Barred(barred)))
            }
        }
    }

    /// The submission that an earlier request with this `Idempotency-Key` or payment began.
    ///
    /// # Errors
    /// [`SubmitError::OtherRequest`] if the earlier request was a different one.
    pub async fn earlier(&self, request: &Request) -> Result<Option<SubmissionRecord>, SubmitError> {
        if let Payer::Payment(id) = &request.payer {
            let payment = self.inner.store.get(&payments::payment(id)).await?;
            if let Some(PaymentRecord {
                state: PaymentState::Settled { bought: Some(bought), .. }, request: of, ..
            }) = payment
            {
                let same = of == request.digest();
                let found = self.inner.store.get(&records::submission(bought)).await?.filter(|_| same);
                return found.map(Some).ok_or(SubmitError::NotPaid);
            }
        }
        let Some(key) = request.retry() else { return Ok(None) };
        let Some(known) = self.inner.store.get(&key).await? else { return Ok(None) };
        if known.request != request.digest() {
            return Err(SubmitError::OtherRequest);
        }
        Ok(self.inner.store.get(&records::submission(known.submission)).await?)
    }

    /// Adds to `batch` the price of the submission `id`; without that price the batch is refused.
    async fn paid(&self, batch: Batch, request: &Request, id: Uuid) -> Result<Batch, SubmitError> {
        let payment = match &request.payer {
            Payer::Key { limit: None, .. } => return Ok(batch),
            Payer::Key { meter, units, limit: Some(limit) } => {
                return Ok(batch.take(&access::units(meter), *units, *limit));
            }
            Payer::Payment(payment) => payment,
        };
        let spent = spend(&self.inner.store, batch, payment, request.digest(), id).await?;
        spent.map(|spent| spent.batch).ok_or(SubmitError::NotPaid)
    }
}
