//! Keys and their families. The crate that owns records declares their families next to them. Addresses in keys are
//! lower-case hex with `0x`.

use std::{fmt, marker::PhantomData};

use serde::{Deserialize, Serialize};

/// Where a shared store places the records of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Placement {
    /// On one node of a cluster, which makes a batch of them atomic.
    Together,
    /// Like [`Together`](Self::Together), and in a sorted set for listing.
    Listed,
    /// On the node of the last part of the key.
    Spread,
}

/// A key without the type of its value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyName {
    pub text: String,
    pub placement: Placement,
}

/// All keys with one prefix. Values are JSON; later fields must be optional to keep older records readable.
pub struct Family<T> {
    prefix: &'static str,
    placement: Placement,
    value: PhantomData<fn() -> T>,
}

impl<T> Family<T> {
    /// Records that can share a batch with other records.
    pub const fn new(prefix: &'static str) -> Self {
        Self::placed(prefix, Placement::Together)
    }

    /// Like [`new`](Self::new), for a family that [`Store::list`](crate::Store::list) lists. The family must be small:
    /// not one record per address.
    pub const fn listed(prefix: &'static str) -> Self {
        Self::placed(prefix, Placement::Listed)
    }

    /// Records with one for each address, token, score or caller. They share a batch only with other spread records;
    /// such a batch has no condition and is not atomic.
    pub const fn spread(prefix: &'static str) -> Self {
        Self::placed(prefix, Placement::Spread)
    }

    const fn placed(prefix: &'static str, placement: Placement) -> Self {
        Self { prefix, placement, value: PhantomData }
    }

    /// The key of this family that ends in `rest`.
    pub fn key(&self, rest: impl fmt::Display) -> Key<T> {
        Key { name: KeyName { text: format!("{}{rest}", self.prefix), placement: self.placement }, value: PhantomData }
    }

    pub(crate) fn prefix(&self) -> &'static str {
        self.prefix
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.placement == Placement::Listed
    }
}

/// A key and the type of the record under it.
pub struct Key<T> {
    name: KeyName,
    value: PhantomData<fn() -> T>,
}

impl<T> Key<T> {
    /// The key of the only record of its kind.
    pub fn single(text: &'static str) -> Self {
        Family::new(text).key("")
    }

    pub(crate) fn name(&self) -> &KeyName {
        &self.name
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.name.text
    }

    /// The same key for values of another type, to write a damaged record.
    #[cfg(test)]
    pub(crate) fn retyped<U>(key: &Key<U>) -> Self {
        Self { name: key.name.clone(), value: PhantomData }
    }
}

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), value: PhantomData }
    }
}

impl<T> fmt::Debug for Key<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The leases: `lease/{name}`. They never expire, which keeps tokens growing.
pub(crate) const LEASES: Family<LeaseRecord> = Family::new("lease/");

/// The holder of a lease, and its expiry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LeaseRecord {
    pub holder: String,
    /// One more for each acquisition, even after release and expiry.
    pub token: u64,
    /// Milliseconds since the Unix epoch; 0 once released.
    pub until: u64,
}
