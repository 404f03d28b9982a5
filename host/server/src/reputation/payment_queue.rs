//! The interface to payments, whose transactions the same account sends. One worker gives out the nonces of the
//! account: it holds the account's lease and uses one look at the chain for submissions and payments.

use futures::future::BoxFuture;

use crate::access::x402::records::PaymentRecord;
use assay_outbox::slot::Round;
use assay_store::{Lease, StoreError};

/// Payments that the account settles.
pub trait PaymentQueue: Send + Sync + 'static {
    /// Completes when a payment may have been added.
    fn added(&self) -> BoxFuture<'_, ()>;

    /// The payments that are open or have a nonce, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    fn open(&self) -> BoxFuture<'_, Result<Vec<PaymentRecord>, StoreError>>;

    /// Takes the next step of each of `open`. `false` where the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    fn settle<'a>(
        &'a self,
        lease: &'a Lease,
        round: &'a mut Round<'_>,
        open: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
