//! A caller whose key is known.

use super::{AccessError, KeyHash};
use crate::{
    config::{KeyConfig, Scope},
    store::{
        Key, keys,
        records::{KeyRecord, Payer},
    },
};

/// The owner of a known key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Name of the key, for logs and usage.
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units the key may spend in all; unmetered where absent.
    pub units: Option<u64>,
    meter: String,
}

impl Caller {
    /// A key of the configuration keeps its usage under its name, so that its text can be changed.
    pub(super) fn configured(key: &KeyConfig) -> Self {
        Self { name: key.name.clone(), scopes: key.scopes.clone(), units: key.units, meter: key.name.clone() }
    }

    /// A minted key has its own usage: another one of the same name starts anew.
    pub(super) fn minted(hash: &KeyHash, record: KeyRecord) -> Self {
        Self { name: record.name, scopes: record.scopes, units: record.units, meter: hex::encode(hash) }
    }

    /// Whoever comes without a key to what is free.
    pub fn guest() -> Self {
        Self { name: "guest".to_owned(), scopes: vec![Scope::Read], units: None, meter: String::new() }
    }

    /// # Errors
    /// [`AccessError::Scope`] where the key does not have `scope`. No scope includes another.
    pub fn require(&self, scope: Scope) -> Result<(), AccessError> {
        if self.scopes.contains(&scope) { Ok(()) } else { Err(AccessError::Scope { needed: scope }) }
    }

    /// Tells this key from every other, also from a later one of the same name.
    pub fn identity(&self) -> &str {
        &self.meter
    }

    /// Where the units used are counted.
    pub(super) fn meter(&self) -> Key<u64> {
        keys::units(&self.meter)
    }

    /// This caller as the one who pays `units` for work that outlives the request.
    pub fn payer(&self, units: u64) -> Payer {
        Payer::Key { meter: self.meter.clone(), units, limit: self.units }
    }
}
