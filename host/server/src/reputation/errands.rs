//! The seam to whoever else sends transactions with the account of submissions. Nonces are given out in one place: by
//! the one worker that has the account's lease, from one look at the chain.

use crate::access::x402::records::PaymentRecord;
use std::collections::BTreeSet;

use futures::future::BoxFuture;

use assay_outbox::sender::AccountView;
use assay_store::{Lease, StoreError};

/// Payments that the account settles.
pub trait Errands: Send + Sync + 'static {
    /// Completes when one may have been added.
    fn news(&self) -> BoxFuture<'_, ()>;

    /// Those under way, oldest first.
    ///
    /// # Errors
    /// The store's failure.
    fn open(&self) -> BoxFuture<'_, Result<Vec<PaymentRecord>, StoreError>>;

    /// Does what is next for each of `open` by `view`, and adds the nonces it takes to `held`, which has all that are
    /// taken. `false` where the lease is lost.
    ///
    /// # Errors
    /// The store's failure.
    fn run<'a>(
        &'a self,
        lease: &'a Lease,
        view: &'a AccountView,
        held: &'a mut BTreeSet<u64>,
        open: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;
}
