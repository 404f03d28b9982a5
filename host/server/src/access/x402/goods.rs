//! What a payment buys. It is stored with the payment before any money moves. A submission is handed over in the write
//! that records the settlement, whether or not the caller still waits.

use futures::future::BoxFuture;
use uuid::Uuid;

use super::records::PurchaseRecord;
use assay_domain::PaymentId;
use assay_store::{Batch, StoreError};

/// Who hands over what was paid for.
pub trait Goods: Send + Sync + 'static {
    /// Adds to `batch` what `payment` buys, and returns its id; `None` for what a later request fetches.
    ///
    /// # Errors
    /// The store's failure.
    fn hand_over<'a>(
        &'a self,
        batch: Batch,
        payment: PaymentId,
        purchase: &'a PurchaseRecord,
    ) -> BoxFuture<'a, Result<(Batch, Option<Uuid>), StoreError>>;
}
