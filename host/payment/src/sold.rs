//! Items that settled payments bought: each buys one item, in the write that stores the item.

use std::time::Duration;

use chrono::Utc;
use futures::future::BoxFuture;
use uuid::Uuid;

use super::{
    X402,
    claim::life,
    records::{self, PaymentRecord, PaymentState, PurchaseRecord, SoldRecord},
};
use assay_domain::{B256, PaymentId};
use assay_store::{Batch, Revision, Store, StoreError};

/// Attempts at the write, if other writes come first.
const TRIES: usize = 4;

/// A batch that spends a payment.
pub struct Spent {
    pub batch: Batch,
    /// The payment before.
    pub payment: PaymentRecord,
}

/// Adds to `batch` that `payment` buys `goods` for the request with this digest; the batch is refused if the payment
/// has bought something. `None` if it is not settled, or for another request.
///
/// # Errors
/// The store's failure.
pub async fn spend(
    store: &Store,
    batch: Batch,
    payment: &PaymentId,
    request: B256,
    goods: Uuid,
) -> Result<Option<Spent>, StoreError> {
    let key = records::payment(payment);
    let read = store.read(&key).await?;
    let Some(before) = read.value.filter(|known| known.request == request) else { return Ok(None) };
    let mut known = before.clone();
    let PaymentState::Settled { bought, .. } = &mut known.state else { return Ok(None) };
    let batch = match bought.replace(goods) {
        // Another request was faster: this batch is refused, and the caller finds what that request began.
        Some(_) => batch.if_unchanged(&key, Revision::ABSENT),
        None => {
            known.updated_at = Utc::now();
            // Where the payment bought something in the meantime, its revision differs, and the batch is refused.
            batch.if_unchanged(&key, read.revision).put(&key, &known)?
        }
    };
    Ok(Some(Spent { batch, payment: before }))
}

impl X402 {
    /// The statement that `payment` bought, as long as it holds.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn sold(&self, payment: &PaymentId) -> Result<Option<SoldRecord>, StoreError> {
        self.inner.store.get(&records::sold(payment)).await
    }

    /// Stores `statement`, of this score, as what `payment` bought, and returns what it bought: another request
    /// may have been faster. `None` if the payment is not settled, or is for another request.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn sell(
        &self,
        payment: &PaymentId,
        purchase: &PurchaseRecord,
        score: Uuid,
        statement: SoldRecord,
        holds: Duration,
    ) -> Result<Option<SoldRecord>, StoreError> {
        for _ in 0..TRIES {
            let batch = Batch::new().put_expiring(&records::sold(payment), &statement, holds)?;
            let Some(spent) = spend(&self.inner.store, batch, payment, purchase.digest, score).await? else {
                return Ok(None);
            };
            let same = records::payment_for(payment, purchase);
            let batch = spent.batch.put_expiring(&same, payment, life(&spent.payment).min(holds))?;
            if self.inner.store.commit(batch).await? {
                metrics::counter!("assay_statements_sold_total").increment(1);
                return Ok(Some(statement));
            }
            if let Some(earlier) = self.sold(payment).await? {
                return Ok(Some(earlier));
            }
        }
        Err(StoreError::Failed { reason: "other writes to the payment came first; try again".into() })
    }
}

/// Delivers the item that was paid for.
pub trait Fulfilment: Send + Sync + 'static {
    /// Adds to `batch` what `payment` buys, and returns its id; `None` for what a later request fetches.
    ///
    /// # Errors
    /// The store's failure.
    fn fulfil<'a>(
        &'a self,
        batch: Batch,
        payment: PaymentId,
        purchase: &'a PurchaseRecord,
    ) -> BoxFuture<'a, Result<(Batch, Option<Uuid>), StoreError>>;
}
