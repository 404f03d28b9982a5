//! Makes the records of submissions, also of those that a settled payment buys.

use chrono::Utc;
use futures::{FutureExt, future::BoxFuture};
use uuid::Uuid;

use super::{
    Client,
    records::{self, OPEN_SUBMISSIONS, RetryRecord, SubmissionRecord},
    request::{Request, holder},
};
use assay_access::records::Payer;
use assay_domain::PaymentId;
use assay_http::extract::RetryKey;
use assay_payment::{
    Fulfilment,
    records::{PurchaseRecord, Purchased},
};
use assay_store::{Batch, Store, StoreError};

/// The records are for one account and its registries. Cheap to clone.
#[derive(Clone)]
pub struct SubmissionFactory {
    store: Store,
    client: Client,
}

impl SubmissionFactory {
    pub fn new(store: Store, client: Client) -> Self {
        Self { store, client }
    }

    /// The submissions that have not ended.
    ///
    /// # Errors
    /// The store's failure.
    pub(super) async fn ahead(&self) -> Result<usize, StoreError> {
        Ok(self.store.list(&OPEN_SUBMISSIONS).await?.len())
    }

    pub(super) fn record(&self, request: &Request, ahead: usize) -> SubmissionRecord {
        SubmissionRecord { ahead, ..request.record(self.client, Utc::now()) }
    }
}

impl Fulfilment for SubmissionFactory {
    fn fulfil<'a>(
        &'a self,
        batch: Batch,
        payment: PaymentId,
        purchase: &'a PurchaseRecord,
    ) -> BoxFuture<'a, Result<(Batch, Option<Uuid>), StoreError>> {
        async move {
            let PurchaseRecord { order, retry_key, digest } = purchase.clone();
            let Purchased::Submission { agent_id, address, tags } = order else { return Ok((batch, None)) };
            let request = Request { agent_id, address, tags, payer: Payer::Payment(payment), retry_key };
            let record = self.record(&request, self.ahead().await?);
            let mut batch = batch
                .put(&records::submission(record.id), &record)?
                .put(&records::open_submission(record.created_at, record.id), &record.id)?;
            if let Some(key) = request.retry()
                && holder(&self.store, &key).await?.1.is_none()
            {
                let retry = RetryRecord { submission: record.id, request: digest };
                batch = batch.put_expiring(&key, &retry, RetryKey::REMEMBERED)?;
            }
            Ok((batch, Some(record.id)))
        }
        .boxed()
    }
}
