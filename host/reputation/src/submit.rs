//! Accepting a submission: the record, its place among the open ones, the units or payment, and the caller's
//! `Idempotency-Key` are stored in one write, or nothing is.

use uuid::Uuid;

use super::{
    Barred, Reputation,
    factory::SubmissionFactory,
    records::{self, RetryRecord, SubmissionRecord},
    request::{Request, holder},
};
use crate::feedback::Subject;
use assay_access::records::{self as access, Payer};
use assay_http::extract::RetryKey;
use assay_outbox::sender::SenderError;
use assay_payment::{
    records::{self as payments, PaymentRecord, PaymentState},
    spend,
};
use assay_store::{Batch, Revision, StoreError};

/// Attempts at the write, if other writes come first.
const TRIES: usize = 4;

/// Why a submission was not accepted. Nothing was spent.
#[derive(Debug, thiserror::Error)]
pub enum SubmitError {
    #[error("Agent {0} does not exist in the Identity Registry")]
    NoAgent(u64),
    #[error("This service's account owns agent {0} or acts for it, so the registry refuses its feedback")]
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
            let batch = self.listed(self.paid(batch, &request, record.id).await?, &record)?;
            let batch = self.remembered(batch, &request, record.id).await?;
            if self.inner.store.commit(batch).await? {
                metrics::counter!("assay_submissions_total", "status" => "pending").increment(1);
                self.inner.accepted.notify_one();
                return Ok(record);
            }
            if let Some(earlier) = self.earlier(&request).await? {
                return Ok(earlier);
            }
            if let Payer::Key { meter, units: cost, limit: Some(limit), .. } = &request.payer {
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
        let (known, holder) = holder(&self.inner.store, &key).await?;
        if known.value.is_some_and(|known| known.request != request.digest()) {
            return Err(SubmitError::OtherRequest);
        }
        Ok(holder)
    }

    /// Adds to `batch` that the `Idempotency-Key` of `request` began the submission `id`; the batch is refused if
    /// another request took the key meanwhile.
    async fn remembered(&self, batch: Batch, request: &Request, id: Uuid) -> Result<Batch, StoreError> {
        let Some(key) = request.retry() else { return Ok(batch) };
        let retry = RetryRecord { submission: id, request: request.digest() };
        let (known, holder) = holder(&self.inner.store, &key).await?;
        let free = if holder.is_none() { known.revision } else { Revision::ABSENT };
        batch.if_unchanged(&key, free).put_expiring(&key, &retry, RetryKey::REMEMBERED)
    }

    /// Adds to `batch` the price of the submission `id`; without that price the batch is refused.
    async fn paid(&self, batch: Batch, request: &Request, id: Uuid) -> Result<Batch, SubmitError> {
        let payment = match &request.payer {
            Payer::Key { limit: None, .. } => return Ok(batch),
            Payer::Key { meter, units, limit: Some(limit), .. } => {
                return Ok(batch.take(&access::units(meter), *units, *limit));
            }
            Payer::Payment(payment) => payment,
        };
        let spent = spend(&self.inner.store, batch, payment, request.digest(), id).await?;
        spent.map(|spent| spent.batch).ok_or(SubmitError::NotPaid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, records::Stage, sample};
    use assay_domain::{Address, B256, PaymentId, Tag};

    fn request(payer: Payer) -> Request {
        let SubmissionRecord { agent_id, address, .. } = sample::pending();
        Request { agent_id, address, tags: Tag::ALL.to_vec(), payer, retry_key: Some("one".to_owned()) }
    }

    /// Fails `record` before it is scored.
    async fn fail(reputation: &Reputation, record: &SubmissionRecord) {
        let lease = reputation.inner.store.acquire("work", "test", RetryKey::REMEMBERED).await.unwrap().unwrap();
        let refused = Event::Refused("no scores".to_owned());
        let failed = reputation.advance(&lease, record, refused).await.unwrap().unwrap();
        assert_eq!((failed.stage, failed.charged), (Stage::Failed, false));
    }

    #[tokio::test]
    async fn a_payment_that_was_kept_buys_another_submission_under_the_same_key() {
        let (reputation, _folder) = sample::reputation().await;
        let store = &reputation.inner.store;
        let paid = sample::paid();
        let request = request(Payer::Payment(paid.id));
        let paid = PaymentRecord { request: request.digest(), ..paid };
        assert!(store.commit(Batch::new().put(&payments::payment(&paid.id), &paid).unwrap()).await.unwrap());
        let first = reputation.submit(request.clone()).await.unwrap();
        fail(&reputation, &first).await;
        assert_eq!(reputation.earlier(&request).await.unwrap(), None);
        let second = reputation.submit(request.clone()).await.unwrap();
        assert_ne!(second.id, first.id);
        assert_eq!(reputation.submit(request.clone()).await.unwrap().id, second.id);
        // A client that pays with another payment under the key finds it too.
        let other = Request { payer: Payer::Payment(PaymentId { nonce: B256::repeat_byte(2), ..paid.id }), ..request };
        assert_eq!(reputation.earlier(&other).await.unwrap().map(|record| record.id), Some(second.id));
        let about_another = Request { address: Address::with_last_byte(9), ..other };
        assert!(matches!(reputation.earlier(&about_another).await, Err(SubmitError::OtherRequest)));
    }

    #[tokio::test]
    async fn a_failed_submission_that_units_paid_keeps_its_key() {
        let (reputation, _folder) = sample::reputation().await;
        let request = request(sample::pending().payer);
        let first = reputation.submit(request.clone()).await.unwrap();
        fail(&reputation, &first).await;
        assert_eq!(reputation.submit(request).await.unwrap().id, first.id);
    }
}
