//! The two backends behind one set of methods, which [`Store`](crate::Store) documents.

use std::{num::NonZeroU32, time::Duration};

use crate::{
    Admission, Batch, Key, Lease, Metered, OpenError, Page, RateLimit, StoreError, Take, Told, Withdrawal,
    clock::StoreClock, config, embedded::Embedded, keys::KeyName, redis::Redis,
};

#[derive(Clone)]
pub(super) enum Backend {
    Embedded(Embedded),
    Redis(Redis),
}

/// Calls the same method of either backend.
macro_rules! either {
    ($backend:expr, $method:ident($($argument:expr),*)) => {
        match $backend {
            Backend::Embedded(embedded) => embedded.$method($($argument),*).await,
            Backend::Redis(redis) => redis.$method($($argument),*).await,
        }
    };
}

impl Backend {
    pub(crate) async fn open(config: &config::Store) -> Result<Self, OpenError> {
        match config.backend {
            config::Backend::Embedded => {
                Ok(Self::Embedded(Embedded::open(config.path.clone(), StoreClock::system()).await?))
            }
            config::Backend::Redis => Ok(Self::Redis(Redis::open(config).await?)),
        }
    }

    pub(crate) fn fault(&self) -> Option<String> {
        match self {
            Self::Embedded(embedded) => embedded.fault(),
            Self::Redis(redis) => redis.fault(),
        }
    }

    pub(crate) fn is_shared(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// The bytes of several records, in the order of `keys`.
    pub(crate) async fn read(&self, keys: Vec<KeyName>) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        either!(self, read(keys))
    }

    /// Every record whose key begins with `prefix`, in key order.
    pub(crate) async fn scan(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, StoreError> {
        either!(self, scan(prefix.to_owned()))
    }

    /// At most `most` records whose key begins with `prefix` and is greater than `after`, in key order.
    pub(crate) async fn page(
        &self,
        prefix: &str,
        after: Option<String>,
        most: usize,
    ) -> Result<Page<Vec<u8>>, StoreError> {
        either!(self, page(prefix.to_owned(), after, most))
    }

    pub(crate) async fn commit(&self, batch: Batch) -> Result<bool, StoreError> {
        either!(self, commit(batch))
    }

    pub(crate) fn take(&self, withdrawal: Withdrawal<'_>, tell: Told<Result<Take, StoreError>>) {
        match self {
            Self::Embedded(embedded) => {
                let Withdrawal { counter, amount, limit } = withdrawal;
                let (embedded, counter) = (embedded.clone(), counter.clone());
                assay_tasks::spawn("units", async move { tell(embedded.take(&counter, amount, limit).await) });
            }
            Self::Redis(redis) => redis.take(withdrawal, tell),
        }
    }

    pub(crate) async fn refund(&self, key: &Key<u64>, amount: u64) -> Result<(), StoreError> {
        either!(self, refund(key, amount))
    }

    pub(crate) async fn settle(&self) {
        match self {
            Self::Embedded(_) => {}
            Self::Redis(redis) => redis.settle().await,
        }
    }

    pub(crate) async fn admit(&self, key: &Key<u64>, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        match self {
            Self::Embedded(_) => None,
            Self::Redis(redis) => redis.admit(key.name(), rate, window).await,
        }
    }

    pub(crate) fn admit_and_take(
        &self,
        rate_limit: RateLimit<'_>,
        withdrawal: Withdrawal<'_>,
        tell: Told<Option<Metered>>,
    ) {
        match self {
            Self::Embedded(_) => tell(None),
            Self::Redis(redis) => redis.admit_and_take(rate_limit, withdrawal, tell),
        }
    }

    pub(crate) async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        either!(self, acquire(name, holder, ttl))
    }

    pub(crate) async fn renew(&self, lease: &Lease, ttl: Option<Duration>) -> Result<bool, StoreError> {
        either!(self, renew(lease, ttl))
    }
}
