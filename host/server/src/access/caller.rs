//! A caller whose key is known.

use crate::access::records::{self, KeyRecord, Payer};
use std::num::NonZeroU32;

use super::{AccessError, KeyHash};
use crate::config::KeyConfig;
use assay_domain::Scope;
use assay_store::Key;

/// The owner of a known key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the key, for logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units the key may spend in all; unmetered where absent.
    pub units: Option<u64>,
    /// Requests it may make a minute; without bound where absent.
    pub rate: Option<NonZeroU32>,
    meter: String,
}

impl Caller {
    /// A key of the configuration keeps its usage under its name, so that its text can be changed.
    pub(super) fn configured(key: &KeyConfig, default_rate: u32) -> Self {
        let rate = NonZeroU32::new(key.rate.unwrap_or(default_rate));
        Self { name: key.name.clone(), scopes: key.scopes.clone(), units: key.units, rate, meter: key.name.clone() }
    }

    /// A minted key has its own usage: another one of the same name starts anew.
    pub(super) fn minted(hash: &KeyHash, record: KeyRecord, default_rate: u32) -> Self {
        let rate = NonZeroU32::new(record.rate.unwrap_or(default_rate));
        Self { name: record.name, scopes: record.scopes, units: record.units, rate, meter: hex::encode(hash) }
    }

    /// Whoever comes without a key to what is free.
    pub fn guest() -> Self {
        Self { name: "guest".to_owned(), scopes: vec![Scope::Read], units: None, rate: None, meter: String::new() }
    }

    /// # Errors
    /// [`AccessError::Scope`] where the key has none of `scopes`. No scope includes another.
    pub fn require(&self, scopes: &'static [Scope]) -> Result<(), AccessError> {
        if scopes.iter().any(|scope| self.scopes.contains(scope)) {
            Ok(())
        } else {
            Err(AccessError::Scope { needed: scopes })
        }
    }

    /// Tells this key from every other, also from a later one of the same name.
    pub fn identity(&self) -> &str {
        &self.meter
    }

    /// Where the units used are counted.
    pub(super) fn meter(&self) -> Key<u64> {
        records::units(&self.meter)
    }

    /// This caller as the one who pays `units` for work that outlives the request.
    pub fn payer(&self, units: u64) -> Payer {
        Payer::Key { meter: self.meter.clone(), units, limit: self.units }
    }
}
