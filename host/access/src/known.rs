//! Every key that a server accepts, without its text.

use std::{num::NonZeroU32, sync::atomic::Ordering};

use assay_domain::{Scope, Time};
use assay_store::StoreError;

use super::{
    Access, Caller,
    records::{self, API_KEYS, KeyRecord},
};

/// A key of the configuration, or a minted key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    pub name: String,
    pub scopes: Vec<Scope>,
    /// Units that it may spend in total; unmetered if absent.
    pub units: Option<u64>,
    /// Absent for an unmetered key, because nothing is counted.
    pub used: Option<u64>,
    /// Requests per minute; unlimited if absent.
    pub rate: Option<NonZeroU32>,
    /// Absent for a key of the configuration.
    pub minted_at: Option<Time>,
}

impl Access {
    /// The keys that this server accepts, by name.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be read.
    pub async fn known_keys(&self) -> Result<Vec<KnownKey>, StoreError> {
        let (meters, minted): (Vec<_>, Vec<_>) =
            self.store.list(&API_KEYS).await?.into_iter().map(|(hash, record)| (records::units(&hash), record)).unzip();
        let used = self.store.get_many(&meters).await?;
        let mut known: Vec<_> =
            minted.into_iter().zip(used).map(|(record, used)| self.minted_key(record, used.unwrap_or(0))).collect();
        for caller in self.configured.values() {
            let Caller { name, scopes, units, rate, .. } = (**caller).clone();
            let used = self.used(caller).await?;
            known.push(KnownKey { name, scopes, units, used, rate, minted_at: None });
        }
        known.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(known)
    }

    /// Whether there is any key. A minted key that was found once is believed to be still there: this is called often.
    ///
    /// # Errors
    /// [`StoreError`] when the records cannot be read.
    pub async fn has_keys(&self) -> Result<bool, StoreError> {
        if !self.configured.is_empty() || self.any_minted.load(Ordering::Relaxed) {
            return Ok(true);
        }
        let found = !self.store.list(&API_KEYS).await?.is_empty();
        self.any_minted.store(found, Ordering::Relaxed);
        Ok(found)
    }

    /// A key that was just minted.
    pub fn fresh_key(&self, record: KeyRecord) -> KnownKey {
        self.minted_key(record, 0)
    }

    fn minted_key(&self, record: KeyRecord, used: u64) -> KnownKey {
        KnownKey {
            used: record.units.map(|_| used),
            rate: NonZeroU32::new(record.rate.unwrap_or(self.default_rate)),
            name: record.name,
            scopes: record.scopes,
            units: record.units,
            minted_at: Some(record.minted_at),
        }
    }
}
