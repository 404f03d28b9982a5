//! Watches and groups that an API key creates: the record, its place, its units and the `Idempotency-Key` are stored
//! in one write, or not at all.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::{
    records::{self, RetryRecord},
    watches::{NewWatch, Watch, WatchError, Watches, added},
};
use assay_access::Caller;
use assay_http::extract::RetryKey;
use assay_store::{Batch, Key, Revision, StoreError};

/// Attempts at the write, if other writes come first.
const TRIES: usize = 4;

/// A request with an `Idempotency-Key`.
pub(crate) struct Retry {
    key: Key<RetryRecord>,
    owner: String,
    /// SHA-256 of its words, in hex.
    request: String,
}

impl Retry {
    /// `None` without an `Idempotency-Key`. `words` are the same for the same request.
    pub(crate) fn new(owner: &str, RetryKey(retry_key): RetryKey, words: &str) -> Option<Self> {
        let key = records::retry(owner, &retry_key?);
        Some(Self { key, owner: owner.to_owned(), request: hex::encode(Sha256::digest(words)) })
    }

    /// Adds to `batch` that this request created the watch `id`; the batch is refused if the key is known.
    fn remembered(&self, batch: Batch, id: Uuid) -> Result<Batch, StoreError> {
        let record = RetryRecord { watch: id, request: self.request.clone() };
        batch.if_unchanged(&self.key, Revision::ABSENT).put_expiring(&self.key, &record, RetryKey::REMEMBERED)
    }
}

impl Watches {
    /// The watch or the group that an earlier request with this `Idempotency-Key` created.
    ///
    /// # Errors
    /// [`WatchError::OtherRequest`] if the earlier request was a different one.
    pub(crate) async fn earlier(&self, retry: Option<&Retry>) -> Result<Option<Watch>, WatchError> {
        let Some(Retry { key, owner, request }) = retry else { return Ok(None) };
        let Some(known) = self.0.store.get(key).await? else { return Ok(None) };
        if known.request != *request {
            return Err(WatchError::OtherRequest);
        }
        match self.find(owner, known.watch).await {
            Ok(found) => Ok(Some(found)),
            Err(WatchError::Unknown) => Err(WatchError::Removed),
            Err(error) => Err(error),
        }
    }

    /// Creates a watch or a group for `units` of `payer`, or finds the one that the same request created before.
    /// Returns it with the units that this call spent.
    ///
    /// # Errors
    /// [`WatchError`]; nothing was spent.
    pub(crate) async fn create(
        &self,
        new: NewWatch,
        (payer, units): (&Caller, u64),
        retry: Option<&Retry>,
    ) -> Result<(Watch, u64), WatchError> {
        let (record, store) = (new.record()?, &self.0.store);
        let (max, most) = (self.settings().max, self.settings().max_per_key);
        let (count, own_count) = (records::count(), records::own_count(&record.owner));
        for _ in 0..TRIES {
            let batch = Batch::new().take(&count, 1, max).take(&own_count, 1, most);
            let mut batch = added(payer.take(batch, units), &record)?;
            if let Some(retry) = retry {
                batch = retry.remembered(batch, record.id)?;
            }
            if store.commit(batch).await? {
                self.0.requested.notify_one();
                match record.is_group() {
                    true => tracing::info!(by = record.by, group = %record.id, "group of watches created"),
                    false => tracing::info!(by = record.by, watch = %record.id, "watch created"),
                }
                return Ok((Watch::new(record, None), units));
            }
            if let Some(earlier) = self.earlier(retry).await? {
                return Ok((earlier, 0));
            }
            if let Some(exhausted) = self.0.access.exhausted(payer, units).await? {
                return Err(exhausted.into());
            }
            if store.get(&own_count).await?.unwrap_or_default() >= most {
                return Err(WatchError::KeyFull(most));
            }
            if store.get(&count).await?.unwrap_or_default() >= max {
                return Err(WatchError::ServerFull(max));
            }
        }
        Err(WatchError::Contended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_identified_by_its_owner_its_key_and_its_words() {
        let retry = |owner: &str, key: &str, words: &str| {
            let retry = Retry::new(owner, RetryKey(Some(key.to_owned())), words).unwrap();
            (format!("{:?}", retry.key), retry.request)
        };
        let first = retry("desk", "one", "ada");
        assert_eq!(retry("desk", "one", "ada"), first);
        assert_ne!(retry("desk", "two", "ada").0, first.0);
        assert_ne!(retry("lender", "one", "ada").0, first.0);
        let other = retry("desk", "one", "ben");
        assert!(other.0 == first.0 && other.1 != first.1, "another request with the same key is recognised");
        assert!(Retry::new("desk", RetryKey(None), "ada").is_none());
    }
}
