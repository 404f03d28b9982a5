//! The interface to payments, whose transactions the same account sends. One worker gives out the nonces of the
//! account: it holds the account's lease and uses one view of the chain for submissions and payments.

use std::collections::BTreeSet;

use futures::future::BoxFuture;

use crate::access::x402::records::PaymentRecord;
use assay_outbox::sender::AccountView;
use assay_store::{Lease, StoreError};

/// Payments that the account settles.
pub trait PaymentQueue: Send + Sync + 'static {
    /// Completes when a payment may have been added.
    fn added(&self) -> BoxFuture<'_, ()>;

    /// The open payments, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    fn open(&self) -> BoxFuture<'_, Result<Vec<PaymentRecord>, StoreError>>;

    /// Takes the next step of each of `open` by `view`. `held` has the nonces in use, and gets those that are taken
    /// here. `false` where the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    fn settle<'a>(
        &'a self,
        lease: &'a Lease,
        view: &'a AccountView,
        held: &'a mut BTreeSet<u64>,
        open: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
