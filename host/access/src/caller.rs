//! A caller with a known key.

use std::num::NonZeroU32;

use assay_domain::Scope;
use assay_store::{Batch, Key};

use super::{
    AccessError, KeyHash,
    records::{self, KeyRecord, Payer},
};
use crate::config::KeyConfig;

/// The owner of a known key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the key, for logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units that the key may spend in total; unmetered if absent.
    pub units: Option<u64>,
    /// Requests per minute; unlimited if absent.
    pub rate: Option<NonZeroU32>,
    meter: String,
}

impl Caller {
    /// The usage of a configured key is stored under its name, so that its text can change.
    pub(super) fn configured(key: &KeyConfig, default_rate: u32) -> Self {
        let rate = NonZeroU32::new(key.rate.unwrap_or(default_rate));
        Self { name: key.name.clone(), scopes: key.scopes.clone(), units: key.units, rate, meter: key.name.clone() }
    }

    /// The usage of a minted key is stored under its hash: a later key of the same name starts at 0.
    pub(super) fn minted(hash: &KeyHash, record: KeyRecord, default_rate: u32) -> Self {
        let rate = NonZeroU32::new(record.rate.unwrap_or(default_rate));
        Self { name: record.name, scopes: record.scopes, units: record.units, rate, meter: hex::encode(hash) }
    }

    /// A caller without a key, for free routes.
    pub fn guest() -> Self {
        // No key can have this name.
        Self { name: "(guest)".to_owned(), scopes: vec![Scope::Read], units: None, rate: None, meter: String::new() }
    }

    /// # Errors
    /// [`AccessError::Scope`] when the key has none of `scopes`. No scope includes another.
    pub fn require(&self, scopes: &'static [Scope]) -> Result<(), AccessError> {
        if scopes.iter().any(|scope| self.scopes.contains(scope)) {
            Ok(())
        } else {
            Err(AccessError::Scope { needed: scopes })
        }
    }

    /// The unique identity of this key, different from a later key of the same name.
    pub fn identity(&self) -> &str {
        &self.meter
    }

    /// The counter of the units used.
    pub(super) fn meter(&self) -> Key<u64> {
        records::units(&self.meter)
    }

    /// Adds to `batch` that this key spends `units`; the batch is refused if it has fewer left.
    pub fn take(&self, batch: Batch, units: u64) -> Batch {
        match self.units.filter(|_| units > 0) {
            Some(limit) => batch.take(&self.meter(), units, limit),
            None => batch,
        }
    }

    /// The payer of `units` for work that continues after the request; `read` of them pay for a read that brings
    /// nothing.
    pub fn payer(&self, units: u64, read: u64) -> Payer {
        Payer::Key { meter: self.meter.clone(), units, read: read.min(units), limit: self.units }
    }
}
