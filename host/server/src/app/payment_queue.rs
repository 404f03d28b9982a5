//! Connects payments with the worker of submissions, which sends with the same account: `access` and `reputation` are
//! siblings and do not import each other's services.

use futures::{FutureExt, future::BoxFuture};

use crate::{
    access::x402::{Local, records::PaymentRecord},
    reputation::PaymentQueue,
};
use assay_outbox::slot::Round;
use assay_store::{Lease, StoreError};

/// `None` where this server settles no payments.
pub struct Payments(pub Option<Local>);

impl PaymentQueue for Payments {
    fn added(&self) -> BoxFuture<'_, ()> {
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

    fn settle<'a>(
        &'a self,
        lease: &'a Lease,
        round: &'a mut Round<'_>,
        open: Vec<PaymentRecord>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        match &self.0 {
            Some(local) => local.run(lease, round, open).boxed(),
            None => async { Ok(true) }.boxed(),
        }
    }
}
