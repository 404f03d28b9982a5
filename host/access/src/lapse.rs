//! Whether the key behind lasting work may still have it done: a watch outlives the request that its key made.

use std::sync::Arc;

use assay_domain::Scope;
use assay_store::StoreError;

use super::{Access, Caller, PriceClass};

/// Why a key has no work done any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lapse {
    /// A minted key was revoked, which is final: a later key of its name is another one.
    Revoked,
    /// The configuration of this host has no key of this name; it may have one again.
    NotConfigured,
    /// The key has none of these scopes any more.
    Scope(&'static [Scope]),
}

impl Lapse {
    /// The reason as answers and the log have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revoked => "key_revoked",
            Self::NotConfigured => "key_not_configured",
            Self::Scope(_) => "key_without_scope",
        }
    }
}

impl Access {
    /// Why the key of this [`identity`](Caller::identity) may not make calls at `price` any more; `None` if it may. A
    /// revocation counts within two seconds, as for requests.
    ///
    /// # Errors
    /// The store's failure: whether the key is there is not known.
    pub async fn lapse(&self, identity: &str, price: PriceClass) -> Result<Option<Lapse>, StoreError> {
        let found = match self.configured.values().find(|caller| caller.name == identity) {
            Some(caller) => Ok(caller.clone()),
            None => self.minted_by(identity).await?,
        };
        Ok(match found {
            Ok(caller) => caller.require(price.scopes()).err().map(|_| Lapse::Scope(price.scopes())),
            Err(lapse) => Some(lapse),
        })
    }

    /// The minted key whose hash in hex is `identity`.
    async fn minted_by(&self, identity: &str) -> Result<Result<Arc<Caller>, Lapse>, StoreError> {
        let mut hash = [0; 32];
        if hex::decode_to_slice(identity, &mut hash).is_err() {
            return Ok(Err(Lapse::NotConfigured));
        }
        Ok(self.minted_key_of(hash).await?.ok_or(Lapse::Revoked))
    }
}
