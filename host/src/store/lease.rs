//! Leases: work that one process at a time may do, across a fleet.

use super::{Key, keys, records::LeaseRecord};

/// A lease that was granted. Dropping it releases nothing: it ends by [`Store::release`](super::Store::release) or by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub(super) name: String,
    /// Fencing token: larger than that of every earlier holder.
    pub token: u64,
}

impl Lease {
    pub(super) fn key(&self) -> Key<LeaseRecord> {
        keys::lease(&self.name)
    }
}
