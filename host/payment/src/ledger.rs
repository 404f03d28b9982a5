//! The payments in the store. The first request with a payment claims it; every request with the same payment has the
//! same outcome; no payment is settled twice, and each stays bound to its request.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::{
    Payment, Refused, X402,
    records::{self, PaymentRecord, PaymentState, PurchaseRecord, Waits},
};
use crate::token::PaymentError;
use assay_domain::{B256, PaymentId};
use assay_outbox::gas::Usd;
use assay_store::StoreError;

/// Time between two reads of a payment that another process may settle.
const POLL: Duration = Duration::from_millis(200);

/// A payment that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    pub id: PaymentId,
    pub transaction: B256,
    /// The item that it bought before.
    pub bought: Option<Uuid>,
}

/// A payment that has not arrived.
#[derive(Debug, thiserror::Error)]
pub enum PayError {
    #[error("{}", .0.detail)]
    Refused(Refused),
    /// It may still arrive. The client presents it again.
    #[error("The payment is being settled; send the same payment again, and do not sign another one")]
    Pending,
    /// It waits for its turn.
    #[error(
        "The payment is number {place} in the queue, because reverted transfers have used this server's gas budget; \
         it is settled within {} seconds. Send the same payment again, or, once its signature has expired, a new one, \
         which keeps the place. Requests with an API key do not wait",
        .wait.as_secs()
    )]
    Queued { place: usize, wait: Duration },
    /// Nothing was taken.
    #[error(
        "Gas for this request can cost {cost}, more than the {limit} that this server pays. The payment was not \
         taken; send it again when gas costs less, or use an API key"
    )]
    Dear { cost: Usd, limit: Usd },
    /// Too many payments are open. Nothing was taken.
    #[error(
        "Too many payments wait to be settled, in all or from your network. The payment was not taken; present it \
         again later, or use an API key"
    )]
    Full,
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

/// The state of a payment at a request.
enum Lookup {
    /// The payment to wait for.
    Claimed(PaymentRecord),
    /// Nothing was claimed, or the claim was refused before.
    Free(Option<PaymentRecord>),
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

    /// Settles `payment` for `purchase`, once. If the payer has a payment for the same request in progress, or one that
    /// arrived, that one counts, and this one is not touched. `resource` is the URL that it pays for.
    ///
    /// # Errors
    /// [`PayError`].
    pub async fn settle(
        &self,
        payment: &Payment,
        purchase: &PurchaseRecord,
        resource: &str,
    ) -> Result<Settled, PayError> {
        let deadline = Instant::now() + self.inner.settle_timeout;
        let mut changes = self.inner.changed.subscribe();
        let mut waited = false;
        loop {
            changes.mark_unchanged();
            match self.found(payment, purchase, waited).await? {
                Lookup::Claimed(PaymentRecord { id, state: PaymentState::Settled { transaction, bought }, .. }) => {
                    return Ok(Settled { id, transaction, bought });
                }
                Lookup::Claimed(record) => {
                    if Instant::now() >= deadline {
                        return Err(self.why_open(&record).await?);
                    }
                }
                Lookup::Free(Some(PaymentRecord { state: PaymentState::Refused { reason, detail }, .. })) if waited => {
                    return Err(Refused { tried: true, ..Refused::new(reason, detail) }.into());
                }
                Lookup::Free(_) => {
                    // The next read of the record decides, whether or not the claim succeeded.
                    self.claim(payment, purchase, resource).await?;
                    waited = true;
                    continue;
                }
            }
            waited = true;
            // After a timeout or a change, the next read of the record decides.
            let _ = timeout(POLL, changes.changed()).await;
        }
    }

    /// Why `record` is still open.
    async fn why_open(&self, record: &PaymentRecord) -> Result<PayError, PayError> {
        match record.waits.filter(|_| record.slot.is_none()) {
            Some(Waits::Turn { most }) => Ok(self.queued(&record.id, record.class(), most).await?),
            Some(Waits::Price { cost, limit }) => Ok(PayError::Dear { cost, limit }),
            None => Ok(PayError::Pending),
        }
    }

    /// `tried`: a claim was tried. A payment that was refused before is claimed first, for it may have arrived since;
    /// after it another payment for the same request counts.
    async fn found(&self, payment: &Payment, purchase: &PurchaseRecord, tried: bool) -> Result<Lookup, PayError> {
        let known = self.inner.store.get(&records::payment(&self.id(payment))).await?;
        let mut refused = None;
        if let Some(record) = known {
            let is_free = record.may_be_claimed();
            // A signature can be written in several ways; the authorization decides.
            if record.authorization == payment.authorization && record.request != purchase.digest {
                return Err(Refused::spent().into());
            }
            match record.is_of(payment) {
                true if is_free && tried => refused = Some(record),
                true if is_free => return Ok(Lookup::Free(Some(record))),
                true => return Ok(Lookup::Claimed(record)),
                false if is_free && !record.reverted => {}
                false => return Err(Refused::used().into()),
            }
        }
        Ok(self.sibling(payment, purchase).await?.map_or(Lookup::Free(refused), Lookup::Claimed))
    }

    /// The payment that the payer of `payment` presented for the same request before. A client that gave up waiting
    /// signs another one.
    pub(super) async fn sibling(
        &self,
        payment: &Payment,
        purchase: &PurchaseRecord,
    ) -> Result<Option<PaymentRecord>, PayError> {
        let store = &self.inner.store;
        let key = records::payment_for(&self.id(payment), purchase);
        let Some(id) = store.get(&key).await? else { return Ok(None) };
        let Some(record) = store.get(&records::payment(&id)).await?.filter(|record| !record.may_be_claimed()) else {
            return Ok(None);
        };
        // Only the payer learns of it.
        Ok(if self.is_signed(payment).await? { Some(record) } else { None })
    }
}

impl PaymentRecord {
    /// A refused payment may be presented again.
    pub(super) fn may_be_claimed(&self) -> bool {
        matches!(self.state, PaymentState::Refused { .. })
    }

    /// The record is of exactly this payment, which was valid when it was claimed.
    pub(super) fn is_of(&self, payment: &Payment) -> bool {
        (self.authorization, &self.signature) == (payment.authorization, &payment.signature)
    }

    pub(super) fn settled(&mut self, transaction: B256) {
        (self.state, self.trouble) = (PaymentState::Settled { transaction, bought: None }, None);
    }

    pub(super) fn refused(&mut self, refused: Refused) {
        self.state = PaymentState::Refused { reason: refused.reason.into_owned(), detail: refused.detail };
    }
}
