//! Durable records, behind one interface with a backend chosen once by configuration. Who
//! keeps records declares their [`Family`]. What is written is on disk when the call returns, with Redis as far as its server was
//! told to see to that. Caches are not kept here.
//!
//! A write that was started happens also when its caller stops waiting for it.

mod backend;
mod batch;
mod clock;
pub mod config;
mod embedded;
mod error;
mod keys;
mod lease;
mod redis;
#[cfg(test)]
mod tests;

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};

pub use batch::{Batch, Revision};
pub use error::{BackupError, OpenError, StoreError};
pub use keys::{Family, Key};
pub use lease::{Lease, Lost};

use backend::Backend;

/// The store. Clones share it; the last one to go closes it, after the writes that were started.
#[derive(Clone)]
pub struct Store {
    backend: Backend,
}

/// A record as it was read, to be changed only if nobody else has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned<T> {
    pub value: Option<T>,
    pub revision: Revision,
}

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copied {
    pub path: PathBuf,
    pub records: u64,
    pub bytes: u64,
}

/// The outcome of taking from a bounded counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// Taken; this much is used now.
    Taken { used: u64 },
    /// Not taken: it would have passed the limit. This much is used.
    Exhausted { used: u64 },
}

/// How a caller stands after a request that counts against a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// Within the rate; this many more could be made at once.
    Allowed { left: u32 },
    /// Beyond it, and not counted; the next one is within it after `wait`.
    Refused { wait: Duration },
}

impl Store {
    /// Opens the configured backend. The embedded one is created where it does not exist, with its folder.
    ///
    /// # Errors
    /// [`OpenError`]; what was there is left as it is.
    pub async fn open(config: &config::Store) -> Result<Self, OpenError> {
        Ok(Self { backend: Backend::open(config).await? })
    }

    /// A copy of every record as it stands at one moment, in a file that can take the place of this store's: see
    /// [`restore`](Self::restore). The store stays in use.
    ///
    /// # Errors
    /// [`BackupError`]; no file is left then.
    pub async fn back_up(&self, to: &Path) -> Result<Copied, BackupError> {
        match &self.backend {
            Backend::Embedded(embedded) => embedded.back_up(to.to_owned()).await,
            Backend::Redis(_) => Err(BackupError::Elsewhere),
        }
    }

    /// Puts a copy of `backup` in the place of the configured store, which nobody may be using. What stood there is
    /// moved to `aside` and that path is given back; `None` where there was nothing. Blocks while it copies.
    ///
    /// # Errors
    /// [`OpenError`] where the backup cannot be used, or the store is in use. Nothing was changed then.
    pub fn restore(config: &config::Store, backup: &Path, aside: PathBuf) -> Result<Option<PathBuf>, OpenError> {
        if config.backend == config::Backend::Redis {
            return Err(OpenError::Redis {
                reason: "only an embedded store takes a backup back; what is in Redis comes back there".into(),
            });
        }
        embedded::backup::restore(backup, &config.path, aside)
    }

    /// The last write failed in the backend, so the next one most likely will.
    pub fn is_failing(&self) -> bool {
        self.backend.is_failing()
    }

    /// Other hosts use it too.
    pub fn is_shared(&self) -> bool {
        self.backend.is_shared()
    }

    /// # Errors
    /// [`StoreError::Damaged`] where the record is not a `T`; otherwise the backend's failure.
    pub async fn get<T: DeserializeOwned>(&self, key: &Key<T>) -> Result<Option<T>, StoreError> {
        Ok(self.read(key).await?.value)
    }

    /// Several records in one round trip, in the order of `keys`.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_many<T: DeserializeOwned>(&self, keys: &[Key<T>]) -> Result<Vec<Option<T>>, StoreError> {
        let texts = keys.iter().map(|key| key.name().clone()).collect();
        let found = self.backend.read(texts).await?;
        keys.iter().zip(found).map(|(key, bytes)| bytes.map(|bytes| decode(key.as_str(), &bytes)).transpose()).collect()
    }

    /// A record with its revision, for [`compare_and_swap`](Self::compare_and_swap).
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn read<T: DeserializeOwned>(&self, key: &Key<T>) -> Result<Versioned<T>, StoreError> {
        let bytes = self.backend.read(vec![key.name().clone()]).await?.into_iter().next().flatten();
        let value = bytes.as_deref().map(|bytes| decode(key.as_str(), bytes)).transpose()?;
        Ok(Versioned { value, revision: Revision(bytes) })
    }

    /// Every record of a family with what follows the prefix in its key, in the order of keys.
    ///
    /// # Errors
    /// As [`get`](Self::get), for any record of the family.
    pub async fn list<T: DeserializeOwned>(&self, family: &Family<T>) -> Result<Vec<(String, T)>, StoreError> {
        let prefix = family.prefix();
        if !family.is_listed() {
            return Err(StoreError::Failed {
                reason: format!("the family {prefix} is not among those that are listed"),
            });
        }
        let found = self.backend.scan(prefix).await?;
        found
            .into_iter()
            .map(|(key, bytes)| Ok((key.strip_prefix(prefix).unwrap_or(&key).to_owned(), decode(&key, &bytes)?)))
            .collect()
    }

    /// # Errors
    /// As [`Batch::put`], or the backend's failure.
    pub async fn put<T: Serialize>(&self, key: &Key<T>, value: &T) -> Result<(), StoreError> {
        self.commit(Batch::new().put(key, value)?).await.map(drop)
    }

    /// A record that is gone after `ttl`.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn put_expiring<T: Serialize>(&self, key: &Key<T>, value: &T, ttl: Duration) -> Result<(), StoreError> {
        self.commit(Batch::new().put_expiring(key, value, ttl)?).await.map(drop)
    }

    /// Removes a record, also one that does not exist.
    ///
    /// # Errors
    /// The backend's failure.
    pub async fn remove<T>(&self, key: &Key<T>) -> Result<(), StoreError> {
        self.commit(Batch::new().remove(key)).await.map(drop)
    }

    /// Writes `new` if the record is still what `expected` says; `false` where it is not.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub async fn compare_and_swap<T: Serialize>(
        &self,
        key: &Key<T>,
        expected: &Revision,
        new: &T,
    ) -> Result<bool, StoreError> {
        self.commit(Batch::new().if_unchanged(key, expected.clone()).put(key, new)?).await
    }

    /// All of a batch, or nothing and `false` where a condition does not hold.
    ///
    /// # Errors
    /// The backend's failure.
    pub async fn commit(&self, batch: Batch) -> Result<bool, StoreError> {
        self.backend.commit(batch).await
    }

    /// Adds `amount` to a counter unless it would pass `limit`. However many do so at once, the limit holds.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where the record is no counter; otherwise the backend's failure.
    pub async fn take(&self, key: &Key<u64>, amount: u64, limit: u64) -> Result<Take, StoreError> {
        self.backend.take(key, amount, limit).await
    }

    /// Takes `amount` back off a counter, which never falls below 0.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub async fn give_back(&self, key: &Key<u64>, amount: u64) -> Result<(), StoreError> {
        self.backend.give_back(key, amount).await
    }

    /// Counts a request against `rate` in `window`, together with all hosts: all at once or evenly, and what is used
    /// comes back evenly. `None` where the caller has to count by itself: in a store that nobody else uses, and while
    /// the servers do not answer soon.
    pub async fn draw(&self, key: &Key<u64>, rate: NonZeroU32, window: Duration) -> Option<Draw> {
        self.backend.draw(key, rate, window).await
    }

    /// A lease on `name` for `ttl`, or `None` while somebody holds it. `name` comes from a small fixed set.
    ///
    /// # Errors
    /// The backend's failure.
    pub async fn acquire(&self, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
        self.backend.acquire(name, holder, ttl).await
    }

    /// Holds a lease for `ttl` from now; `false` where it has already ended.
    ///
    /// # Errors
    /// The backend's failure.
    pub async fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool, StoreError> {
        self.backend.renew(lease, Some(ttl)).await
    }

    /// Ends a lease; without effect where it has already ended.
    ///
    /// # Errors
    /// The backend's failure.
    pub async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        self.backend.renew(&lease, None).await.map(drop)
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
