//! Durable records behind one interface; the configuration chooses the backend. The owner of records declares their
//! [`Family`]. A write is on disk when the call returns; with Redis this depends on the settings of its server.
//!
//! A started write completes even if its caller stops waiting.

#![cfg_attr(not(test), warn(unreachable_pub))]

mod backend;
mod batch;
mod clock;
pub mod config;
mod embedded;
mod error;
mod keys;
mod lease;
mod pauses;
mod redis;
#[cfg(test)]
mod tests;

use std::{
    num::{NonZeroU32, NonZeroUsize},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::oneshot;

pub use batch::{Batch, Revision};
pub use error::{BackupError, OpenError, StoreError};
pub use keys::{Family, Key};
pub use lease::{Lease, Lost};

use backend::Backend;

/// The store. Clones share it; the last one closes it after the started writes.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
}

/// A record with its revision, for a conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: Option<T>,
    pub revision: Revision,
}

/// A part of a family.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page<T> {
    /// Records with the part of their key after the prefix, in key order.
    pub records: Vec<(String, T)>,
    /// The key after which the next page begins; `None` after the last record.
    pub next: Option<String>,
}

/// A completed backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub path: PathBuf,
    pub records: u64,
    pub bytes: u64,
}

/// The result of [`Store::take`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Taken; `used` includes the amount.
    Taken { used: u64 },
    /// Not taken: the sum would exceed the limit.
    Exhausted { used: u64 },
}

/// The result of [`Store::admit`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Within the rate; `left` more requests are possible at once.
    Allowed { left: u32 },
    /// Above the rate, and not counted; the next request is within it after `wait`.
    Refused { wait: Duration },
}

/// An amount to take from a counter, which may not exceed `limit` afterwards.
#[derive(Debug, Clone, Copy)]
pub struct Withdrawal<'a> {
    pub counter: &'a Key<u64>,
    pub amount: u64,
    pub limit: u64,
}

/// At most `rate` requests of `key` in each `window`.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit<'a> {
    pub key: &'a Key<u64>,
    pub rate: NonZeroU32,
    pub window: Duration,
}

/// The result of [`Store::admit_and_take`]: the admission and, if allowed, the result for the amount.
pub type Metered = (Admission, Option<Take>);

/// A callback for a result, called on the runtime.
type Told<R> = Box<dyn FnOnce(R) + Send>;

impl Store {
    /// Opens the configured backend. A missing embedded store is created with its folder.
    ///
    /// # Errors
    /// [`OpenError`]; nothing changes.
    pub async fn open(config: &config::Store) -> Result<Self, OpenError> {
        Ok(Self { backend: Backend::open(config).await? })
    }

    /// Copies every record at one moment to a file for [`restore`](Self::restore). The store stays in use.
    ///
    /// # Errors
    /// [`BackupError`]; no file remains.
    pub async fn back_up(&self, to: &Path) -> Result<Copied, BackupError> {
        match &self.backend {
            Backend::Embedded(embedded) => embedded.back_up(to.to_owned()).await,
            Backend::Redis(_) => Err(BackupError::Elsewhere),
        }
    }

    /// Replaces the configured store, which must not be in use, by a copy of `backup`. The old store is moved to
    /// `aside`, which is returned; `None` if there was none. Blocks.
    ///
    /// # Errors
    /// [`OpenError`] if the backup is unusable or the store is in use; nothing changes.
    pub fn restore(config: &config::Store, backup: &Path, aside: PathBuf) -> Result<Option<PathBuf>, OpenError> {
        if config.backend == config::Backend::Redis {
            return Err(OpenError::Redis {
                reason: "`restore` works only with the embedded store; restore Redis with its own tools".into(),
            });
        }
        embedded::backup::restore(backup, &config.path, aside)
    }

    /// Why records cannot be written now, in words without an address; `None` if they can.
    pub fn fault(&self) -> Option<String> {
        self.backend.fault()
    }

    /// Whether other hosts use the same store.
    pub fn is_shared(&self) -> bool {
        self.backend.is_shared()
    }

    /// # Errors
    /// [`StoreError::Damaged`] if the record is not a `T`; otherwise the backend's error.
    pub async fn get<T: DeserializeOwned>(&self, key: &Key<T>) -> Result<Option<T>, StoreError> {
        Ok(self.read(key).await?.value)
    }

    /// Several records in one round trip, in the order of `keys`.
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn get_many<T: DeserializeOwned>(&self, keys: &[Key<T>]) -> Result<Vec<Option<T>>, StoreError> {
        let texts = keys.iter().map(|key| key.name().clone()).collect();
        let found = self.backend.read(texts).await?;
        keys.iter().zip(found).map(|(key, bytes)| bytes.map(|bytes| decode(key.as_str(), &bytes)).transpose()).collect()
    }

    /// A record with its revision, for [`compare_and_swap`](Self::compare_and_swap).
    ///
    /// # Errors
    /// Those of [`get`](Self::get).
    pub async fn read<T: DeserializeOwned>(&self, key: &Key<T>) -> Result<Versioned<T>, StoreError> {
        let bytes = self.backend.read(vec![key.name().clone()]).await?.into_iter().next().flatten();
        let value = bytes.as_deref().map(|bytes| decode(key.as_str(), bytes)).transpose()?;
        Ok(Versioned { value, revision: Revision(bytes) })
    }

    /// Every record of a family with the part of its key after the prefix, in key order.
    ///
    /// # Errors
    /// Those of [`get`](Self::get), for any record of the family.
    pub async fn list<T: DeserializeOwned>(&self, family: &Family<T>) -> Result<Vec<(String, T)>, StoreError> {
        let prefix = listed(family)?;
        let found = self.backend.scan(prefix).await?;
        found
            .into_iter()
            .map(|(key, bytes)| Ok((key.strip_prefix(prefix).unwrap_or(&key).to_owned(), decode(&key, &bytes)?)))
            .collect()
    }

    /// At most `most` records of a family with a key after `after`, for a family that is too large for
    /// [`list`](Self::list). Records written between two pages may be in neither.
    ///
    /// # Errors
    /// Those of [`list`](Self::list).
    pub async fn page<T: DeserializeOwned>(
        &self,
        family: &Family<T>,
        after: Option<&str>,
        most: NonZeroUsize,
    ) -> Result<Page<T>, StoreError> {
        let prefix = listed(family)?;
        let after = after.map(|after| format!("{prefix}{after}"));
        let found = self.backend.page(prefix, after, most.get()).await?;
        let rest = |key: &str| key.strip_prefix(prefix).unwrap_or(key).to_owned();
        let records = found.records.into_iter().map(|(key, bytes)| Ok((rest(&key), decode(&key, &bytes)?)));
        Ok(Page { records: records.collect::<Result<_, StoreError>>()?, next: found.next.as_deref().map(rest) })
    }

    /// # Errors
    /// Those of [`Batch::put`], or the backend's error.
    pub async fn put<T: Serialize>(&self, key: &Key<T>, value: &T) -> Result<(), StoreError> {
        self.commit(Batch::new().put(key, value)?).await.map(drop)
    }

    /// Writes a record that expires after `ttl`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub async fn put_expiring<T: Serialize>(&self, key: &Key<T>, value: &T, ttl: Duration) -> Result<(), StoreError> {
        self.commit(Batch::new().put_expiring(key, value, ttl)?).await.map(drop)
    }

    /// Removes a record, whether or not it exists.
    ///
    /// # Errors
    /// The backend's error.
    pub async fn remove<T>(&self, key: &Key<T>) -> Result<(), StoreError> {
        self.commit(Batch::new().remove(key)).await.map(drop)
    }

    /// Writes `new` if the record still has the revision `expected`; otherwise returns `false`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub async fn compare_and_swap<T: Serialize>(
        &self,
        key: &Key<T>,
        expected: &Revision,
        new: &T,
    ) -> Result<bool, StoreError> {
        self.commit(Batch::new().if_unchanged(key, expected.clone()).put(key, new)?).await
    }

    /// Writes the whole batch; if a condition does not hold, writes nothing and returns `false`.
    ///
    /// # Errors
    /// The backend's error.
    pub async fn commit(&self, batch: Batch) -> Result<bool, StoreError> {
        self.backend.commit(batch).await
    }

    /// Adds `amount` to a counter unless the sum exceeds `limit`, for any number of concurrent callers.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the record is not a counter; otherwise the backend's error.
    pub async fn take(&self, key: &Key<u64>, amount: u64, limit: u64) -> Result<Take, StoreError> {
        let (sender, taken) = oneshot::channel();
        self.take_then(Withdrawal { counter: key, amount, limit }, move |take| drop(sender.send(take)));
        taken.await.unwrap_or(Err(StoreError::Stopped))
    }

    /// Like [`take`](Self::take), but calls `told` with the outcome, on the runtime, even if the caller is gone.
    pub fn take_then(&self, withdrawal: Withdrawal<'_>, told: impl FnOnce(Result<Take, StoreError>) + Send + 'static) {
        self.backend.take(withdrawal, Box::new(told));
    }

    /// Subtracts `amount` from a counter, down to 0.
    ///
    /// # Errors
    /// Those of [`take`](Self::take).
    pub async fn refund(&self, key: &Key<u64>, amount: u64) -> Result<(), StoreError> {
        self.backend.refund(key, amount).await
    }

    /// Waits until the units of every take with [`StoreError::Unanswered`] are refunded, or the refund has failed.
    pub async fn settle(&self) {
        self.backend.settle().await;
    }

    /// Counts a request against `rate` per `window`, across all hosts. Used requests return evenly over the window.
    /// `None` if the caller must count by itself: in a store of one host, and while the servers do not answer in time.
    pub async fn admit(&self, key: &Key<u64>, rate: NonZeroU32, window: Duration) -> Option<Admission> {
        self.backend.admit(key, rate, window).await
    }

    /// Counts a request like [`admit`](Self::admit) and [takes](Self::take) an amount from a counter, in one write. The
    /// key of the rate limit and the counter must be able to share a batch. Nothing is taken for a refused request.
    /// `None` if the caller must do both by itself. `told` is called as in [`take_then`](Self::take_then).
    pub fn admit_and_take(
        &self,
        rate_limit: RateLimit<'_>,
        withdrawal: Withdrawal<'_>,
        told: impl FnOnce(Option<Metered>) + Send + 'static,
    ) {
        self.backend.admit_and_take(rate_limit, withdrawal, Box::new(told));
    }

    /// A lease on `name` for `ttl`; `None` while another holder has it. `name` comes from a small fixed set.
    ///
    /// # Errors
    /// The backend's error.
    pub async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        self.backend.acquire(name, holder, ttl).await
    }

    /// Extends a lease to `ttl` from now; `false` if it has ended.
    ///
    /// # Errors
    /// The backend's error.
    pub async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool, StoreError> {
        self.backend.renew(lease, Some(ttl)).await
    }

    /// Ends a lease. No effect if it has already ended.
    ///
    /// # Errors
    /// The backend's error.
    pub async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.backend.renew(&lease, None).await.map(drop)
    }
}

/// What is wrong with a URL of Redis servers, in words without a part of it.
pub fn fault_of_url(url: &str) -> Option<String> {
    redis::address::Address::parse(url).err()
}

/// The prefix of a family whose keys are in the index.
fn listed<T>(family: &Family<T>) -> Result<&'static str, StoreError> {
    let prefix = family.prefix();
    match family.is_listed() {
        true => Ok(prefix),
        false => Err(StoreError::Failed { reason: format!("the family {prefix} is not among those that are listed") }),
    }
}

fn encode<T: Serialize>(key: &Key<T>, value: &T) -> Result<Vec<u8>, StoreError> {
    serde_json::to_vec(value)
        .map_err(|error| StoreError::Unstorable { key: key.as_str().to_owned(), reason: error.to_string() })
}

fn decode<T: DeserializeOwned>(key: &str, bytes: &[u8]) -> Result<T, StoreError> {
    serde_json::from_slice(bytes)
        .map_err(|error| StoreError::Damaged { key: key.to_owned(), reason: error.to_string() })
}
