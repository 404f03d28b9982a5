//! Several writes that are committed together or not at all.

use std::time::Duration;

use serde::Serialize;

use crate::{Key, Lease, StoreError, encode, keys::KeyName};

/// Writes and their conditions, for [`Store::commit`](crate::Store::commit).
#[derive(Default)]
pub struct Batch {
    pub(super) conditions: Vec<WriteCondition>,
    pub(super) changes: Vec<RecordChange>,
}

/// The state of one record: its bytes, or absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision(pub(super) Option<Vec<u8>>);

impl Revision {
    /// The revision of a record that does not exist.
    pub const ABSENT: Self = Self(None);

    /// The revision of a record with this value.
    ///
    /// # Errors
    /// Those of [`Batch::put`].
    pub fn of<T: Serialize>(key: &Key<T>, value: &T) -> Result<Self, StoreError> {
        Ok(Self(Some(encode(key, value)?)))
    }
}

pub(super) enum WriteCondition {
    Unchanged { key: KeyName, seen: Revision },
    Leased { key: KeyName, token: u64 },
    Left { key: Key<u64>, amount: u64, limit: u64 },
}

pub(super) enum RecordChange {
    Put { key: KeyName, value: Vec<u8>, ttl: Option<Duration> },
    Remove { key: KeyName },
    Add { key: Key<u64>, amount: u64 },
    Refund { key: Key<u64>, amount: u64 },
}

impl Batch {
    pub fn new() -> Self {
        Self::default()
    }

    /// The keys of its conditions and changes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &KeyName> {
        let conditions = self.conditions.iter().map(|condition| match condition {
            WriteCondition::Unchanged { key, .. } | WriteCondition::Leased { key, .. } => key,
            WriteCondition::Left { key, .. } => key.name(),
        });
        let changes = self.changes.iter().map(|change| match change {
            RecordChange::Put { key, .. } | RecordChange::Remove { key } => key,
            RecordChange::Add { key, .. } | RecordChange::Refund { key, .. } => key.name(),
        });
        conditions.chain(changes)
    }

    /// # Errors
    /// [`StoreError::Unstorable`] if `value` has no JSON form, such as a map with keys that are not text.
    pub fn put<T: Serialize>(self, key: &Key<T>, value: &T) -> Result<Self, StoreError> {
        self.put_for(key, value, None)
    }

    /// Like [`put`](Self::put), with an expiry after `ttl`.
    ///
    /// # Errors
    /// Those of [`put`](Self::put).
    pub fn put_expiring<T: Serialize>(self, key: &Key<T>, value: &T, ttl: Duration) -> Result<Self, StoreError> {
        self.put_for(key, value, Some(ttl))
    }

    fn put_for<T: Serialize>(mut self, key: &Key<T>, value: &T, ttl: Option<Duration>) -> Result<Self, StoreError> {
        self.changes.push(RecordChange::Put { key: key.name().clone(), value: encode(key, value)?, ttl });
        Ok(self)
    }

    #[must_use]
    pub fn remove<T>(mut self, key: &Key<T>) -> Self {
        self.changes.push(RecordChange::Remove { key: key.name().clone() });
        self
    }

    /// Requires that the record still has the revision `seen`.
    #[must_use]
    pub fn if_unchanged<T>(mut self, key: &Key<T>, seen: Revision) -> Self {
        self.conditions.push(WriteCondition::Unchanged { key: key.name().clone(), seen });
        self
    }

    /// Requires that no other holder has acquired the lease since. A stalled holder then cannot overwrite the records
    /// of its successor.
    #[must_use]
    pub fn if_leased(mut self, lease: &Lease) -> Self {
        self.conditions.push(WriteCondition::Leased { key: lease.key().name().clone(), token: lease.token });
        self
    }

    /// Adds `amount` to a counter, and requires that the sum does not exceed `limit`. Use it once per counter.
    #[must_use]
    pub fn take(mut self, key: &Key<u64>, amount: u64, limit: u64) -> Self {
        self.conditions.push(WriteCondition::Left { key: key.clone(), amount, limit });
        self.changes.push(RecordChange::Add { key: key.clone(), amount });
        self
    }

    /// Subtracts `amount` from a counter, down to 0.
    #[must_use]
    pub fn refund(mut self, key: &Key<u64>, amount: u64) -> Self {
        self.changes.push(RecordChange::Refund { key: key.clone(), amount });
        self
    }
}
