//! Payments as errands of the account of submissions: access and reputation are siblings, and here is where they meet.

use crate::access::x402::records::PaymentRecord;
use std::collections::BTreeSet;

use futures::{FutureExt, future::BoxFuture};

use crate::{access::x402::Local, reputation::Errands};
use assay_outbox::sender::AccountView;
use assay_store::{Lease, StoreError};

/// None where no payment is settled from here.
pub struct Payments(pub Option<Local>);

impl Errands for Payments {
    fn news(&self) -> BoxFuture<'_, ()> {
        match &self.0 {
            Some(local) => local.news().boxed(),
            None => futures::future::pending().boxed(),
        }
    }

    fn open(&self) -> BoxFuture<'_, Result<Vec<PaymentRecord>, StoreError>> {
        match &self.0 {
            Some(local) => local.open().boxed(),
            None => async { Ok(Vec::new()) }.boxed(),
        }
    }

    fn run<'a>(
        &'a self,
        lease: &'a Lease,
        view: &'a AccountView,
        held: &'a mut BTreeSet<u64>,
        open: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        match &self.0 {
            Some(local) => local.run(lease, view, held, open).boxed(),
            None => async { Ok(true) }.boxed(),
        }
    }
}
