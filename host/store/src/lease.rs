//! Leases: only one process of a fleet does the work at a time.

use std::{pin::pin, time::Duration};

use futures::future::select;
use tokio::time::sleep;
use uuid::Uuid;

use crate::{
    Key, Store, StoreError,
    keys::{LEASES, LeaseRecord},
};

/// A granted lease. It ends by [`Store::release`](crate::Store::release) or by expiry, not when dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) name: String,
    /// The fencing token: larger than that of every earlier holder.
    pub token: u64,
}

/// Why the holder of a lease must stop its work.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    #[error("the lease ended; another worker may have it")]
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
    /// Renews `lease` for `ttl` until it is lost.
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

    /// Acquires the lease on `name` and does `work` while holding it, repeatedly, forever. After a crash of the holder
    /// the lease lasts for `ttl`. `retry` is the pause after a failure and between attempts; `what` names the work in
    /// logs.
    pub async fn lead<W: Future<Output = Lost>>(
        &self,
        name: &str,
        ttl: Duration,
        retry: Duration,
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
                Some(lost @ Lost::Lease) => tracing::warn!("{what}: {lost}"),
                Some(Lost::Store(error)) => tracing::error!(%error, "{what} stand still"),
                None => {}
            }
            sleep(retry).await;
        }
    }
}
