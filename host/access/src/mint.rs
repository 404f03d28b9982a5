//! Minted keys in the store: mint, list, revoke.

use assay_domain::{Scope, Secret};
use assay_store::{Batch, Revision, StoreError};

use super::{
    Access, MINTED, MintError, hash,
    records::{self, KeyRecord},
};

/// Longest name of a key, in characters.
const MAX_NAME: usize = 64;

/// A new key. The store has no copy of its text.
#[derive(Debug)]
pub struct Minted {
    pub key: Secret,
    pub record: KeyRecord,
}

/// The outcome of the request to revoke a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revoked {
    Done,
    /// It is in the configuration, and still valid.
    Configured,
    /// No key has this name.
    Unknown,
}

/// # Errors
/// [`MintError::Name`] for a name that no key can have.
pub fn check_name(name: &str) -> Result<(), MintError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    // A path of a URL cannot end in `.` or `..`.
    let has_letter = name.chars().any(|c| c.is_ascii_alphanumeric());
    if !has_letter || name.len() > MAX_NAME || !name.chars().all(allowed) {
        return Err(MintError::Name { name: name.to_owned(), max: MAX_NAME });
    }
    Ok(())
}

/// A new key of 256 random bits, for `name`.
///
/// # Errors
/// [`MintError`] when the name is not valid, or the system returns no random numbers.
pub fn draw(name: &str) -> Result<Secret, MintError> {
    check_name(name)?;
    let mut random = [0; 32];
    getrandom::fill(&mut random)?;
    Ok(Secret::new(format!("{MINTED}{}", hex::encode(random))))
}

/// What a minted key may spend from now on; what is absent stays.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyChange {
    /// Units in all; unmetered if `None`.
    pub units: Option<Option<u64>>,
    /// Requests per minute; the configured default if `None`.
    pub rate: Option<Option<u32>>,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    Done(KeyRecord),
    /// The key is in the configuration.
    Configured,
    Unknown,
}

impl Access {
    /// Mints a key of 256 random bits. Without `units` it is unmetered. Without `rate` it has the configured default; 0
    /// means unlimited.
    ///
    /// # Errors
    /// [`MintError`]; no key was minted.
    pub async fn mint(
        &self,
        name: &str,
        scopes: Vec<Scope>,
        units: Option<u64>,
        rate: Option<u32>,
    ) -> Result<Minted, MintError> {
        let key = draw(name)?;
        if scopes.is_empty() {
            return Err(MintError::NoScope);
        }
        let taken = || MintError::NameTaken { name: name.to_owned() };
        if self.configured.values().any(|caller| caller.name == name) {
            return Err(taken());
        }
        let hash = hash(key.expose());
        let record = KeyRecord { name: name.to_owned(), scopes, units, rate, minted_at: chrono::Utc::now() };
        let by_name = records::api_key_name(name);
        let batch = Batch::new()
            .if_unchanged(&by_name, Revision::ABSENT)
            .put(&by_name, &hex::encode(hash))?
            .put(&records::api_key(&hash), &record)?;
        if !self.store.commit(batch).await? {
            return Err(taken());
        }
        self.minted.invalidate(&hash).await;
        Ok(Minted { key, record })
    }

    /// Revokes a minted key, within two seconds on every host.
    ///
    /// # Errors
    /// [`StoreError`]; the key is still valid.
    pub async fn revoke(&self, name: &str) -> Result<Revoked, StoreError> {
        let (hash, revision) = match self.named(name).await? {
            Named::Minted { hash, revision } => (hash, revision),
            Named::Configured => return Ok(Revoked::Configured),
            Named::Unknown => return Ok(Revoked::Unknown),
        };
        let by_name = records::api_key_name(name);
        let batch = Batch::new()
            .if_unchanged(&by_name, revision)
            .remove(&by_name)
            .remove(&records::api_key(&hash))
            .remove(&records::units(&hex::encode(hash)));
        let revoked = self.store.commit(batch).await?;
        self.minted.invalidate(&hash).await;
        // Another host was first.
        Ok(if revoked { Revoked::Done } else { Revoked::Unknown })
    }

    /// Changes what a minted key may spend, within two seconds on every host. Units that it has used stay used.
    ///
    /// # Errors
    /// [`StoreError`]; nothing was changed.
    pub async fn change(&self, name: &str, change: KeyChange) -> Result<Changed, StoreError> {
        loop {
            let hash = match self.named(name).await? {
                Named::Minted { hash, .. } => hash,
                Named::Configured => return Ok(Changed::Configured),
                Named::Unknown => return Ok(Changed::Unknown),
            };
            let key = records::api_key(&hash);
            // Revoked meanwhile.
            let Some(before) = self.store.get(&key).await? else { return Ok(Changed::Unknown) };
            let mut record = before.clone();
            record.units = change.units.unwrap_or(record.units);
            record.rate = change.rate.unwrap_or(record.rate);
            if self.store.compare_and_swap(&key, &Revision::of(&key, &before)?, &record).await? {
                self.minted.invalidate(&hash).await;
                return Ok(Changed::Done(record));
            }
        }
    }

    /// The key of this name.
    async fn named(&self, name: &str) -> Result<Named, StoreError> {
        let by_name = records::api_key_name(name);
        let found = self.store.read(&by_name).await?;
        let Some(text) = found.value else {
            let is_configured = self.configured.values().any(|caller| caller.name == name);
            return Ok(if is_configured { Named::Configured } else { Named::Unknown });
        };
        let mut hash = [0; 32];
        hex::decode_to_slice(&text, &mut hash)
            .map_err(|error| StoreError::Damaged { key: format!("{by_name:?}"), reason: error.to_string() })?;
        Ok(Named::Minted { hash, revision: found.revision })
    }
}

/// The key of a name.
enum Named {
    Minted { hash: [u8; 32], revision: Revision },
    Configured,
    Unknown,
}
