//! Leases: work that one process at a time may do, across a fleet.

use std::{pin::pin, time::Duration};

use futures::future::select;
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    Key, Store, StoreError,
    keys::{LEASES, LeaseRecord},
};

/// A lease that was granted. Dropping it releases nothing: it ends by [`Store::release`](crate::Store::release) or by
/// itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) name: String,
    /// Fencing token: larger than that of every earlier holder.
    pub token: u64,
}

/// Why whoever holds a lease has to stop what they do.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("another worker has taken over")]
    Lease,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Lease {
    pub(super) fn key(&self) -> Key<LeaseRecord> {
        LEASES.key(&self.name)
    }
}

impl Store {
    /// Holds `lease` for `ttl` again and again; ends when it is lost.
    pub async fn hold(&self, lease: &Lease, ttl: Duration) -> Lost {
        loop {
            sleep(ttl / 3).await;
            match self.renew(lease, ttl).await {
                Ok(true) => {}
                Ok(false) => return Lost::Lease,
                Err(error) => return error.into(),
            }
        }
    }

    /// Does `work` with the lease on `name` whenever nobody else has it, for ever. `ttl` is how long a worker that is
    /// gone holds up its successor, `retry` the wait for a lease that somebody else has and after a failure of the
    /// store, `what` the work in a word.
    pub async fn lead<W: Future<Output = Lost>>(
        &self,
        name: &str,
        (ttl, retry): (Duration, Duration),
        what: &'static str,
        work: impl Fn(Lease) -> W,
    ) {
        let holder = Uuid::new_v4().to_string();
        loop {
            let lost = match self.acquire(name, &holder, ttl).await {
                Ok(Some(lease)) => {
                    Some(select(pin!(self.hold(&lease, ttl)), pin!(work(lease.clone()))).await.factor_first().0)
                }
                Ok(None) => None,
                Err(error) => Some(error.into()),
            };
            match lost {
                Some(Lost::Lease) => tracing::warn!("another worker has taken over the {what}"),
                Some(Lost::Store(error)) => tracing::error!(%error, "{what} stand still"),
                None => {}
            }
            sleep(retry).await;
        }
    }
}
