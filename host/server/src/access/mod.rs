//! Who calls, what they may do, how often, and what it costs. Keys are known by their SHA-256 alone: the text is
//! dropped as soon as it is hashed, and looking a hash up tells nothing by the time it takes.
//!
//! A request passes [`Access::identify`], [`Access::count`], [`Caller::require`] and [`Access::reserve`], and ends its
//! [`Reservation`].

mod caller;
mod error;
mod mint;
mod price;
mod rate;
pub mod records;
mod reservation;
#[cfg(test)]
mod tests;
pub mod x402;

use std::{collections::HashMap, net::IpAddr, num::NonZeroU32, sync::Arc, time::Duration};

use moka::future::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

pub use caller::Caller;
pub use error::{AccessError, MintError};
pub use mint::{KeyUsage, Minted, draw};
pub use price::Price;
pub use rate::{RateState, WINDOW};
pub use reservation::Reservation;

use rate::{Counted, Rates};

use crate::config;
use assay_store::{Store, StoreError, Take};

/// SHA-256 of a key's text.
type KeyHash = [u8; 32];

/// What every minted key begins with: anything else cannot be in the store and is not looked for there.
const MINTED: &str = "assay_";
/// How long a lookup is remembered, and so the longest a minted key may be used after it was revoked.
const LOOKUP_LIFE: Duration = Duration::from_secs(2);
/// Most lookups remembered; wrong keys are remembered too, so that guessing them does not reach the store each time.
const LOOKUPS: u64 = 10_000;

/// Keys, scopes and units. Clones share it.
#[derive(Clone)]
pub struct Access {
    configured: Arc<HashMap<KeyHash, Arc<Caller>>>,
    minted: Cache<KeyHash, Option<Arc<Caller>>>,
    default_cost: u64,
    default_rate: u32,
    address_rate: Option<NonZeroU32>,
    rates: Rates,
    store: Store,
    /// Units on their way to a reservation, or back.
    moving: TaskTracker,
}

impl Access {
    pub fn new(config: &config::Access, store: Store) -> Self {
        let configured = config
            .keys
            .iter()
            .map(|key| (hash(key.key.expose()), Arc::new(Caller::configured(key, config.default_rate))))
            .collect();
        Self {
            configured: Arc::new(configured),
            minted: Cache::builder().max_capacity(LOOKUPS).time_to_live(LOOKUP_LIFE).build(),
            default_cost: config.default_cost,
            default_rate: config.default_rate,
            address_rate: NonZeroU32::new(config.address_rate),
            rates: Rates::new(store.clone()),
            store,
            moving: TaskTracker::new(),
        }
    }

    /// Whose key this is. `authorization` is the value of that header, `Bearer <key>`.
    ///
    /// # Errors
    /// [`AccessError::MissingOrInvalid`] for anything but a known key; [`AccessError::Store`] where it could not be
    /// looked up.
    pub async fn identify(&self, authorization: Option<&str>) -> Result<Arc<Caller>, AccessError> {
        let key = authorization.and_then(bearer).ok_or(AccessError::MissingOrInvalid)?;
        let hash = hash(key);
        if let Some(caller) = self.configured.get(&hash) {
            return Ok(caller.clone());
        }
        if !key.starts_with(MINTED) {
            return Err(AccessError::MissingOrInvalid);
        }
        let lookup = async {
            let record = self.store.get(&records::api_key(&hash)).await?;
            Ok(record.map(|record| Arc::new(Caller::minted(&hash, record, self.default_rate))))
        };
        let found = self
            .minted
            .try_get_with(hash, lookup)
            .await
            .map_err(|error: Arc<StoreError>| AccessError::Store((*error).clone()))?;
        found.ok_or(AccessError::MissingOrInvalid)
    }

    /// Counts a request of `caller`; `None` where its key has no rate.
    pub async fn count(&self, caller: &Caller) -> Option<(&'static str, RateState)> {
        self.counted(Counted::Key(caller.identity().to_owned()), caller.rate).await
    }

    /// Counts a request from `address` that came without a valid key; `None` where there is no rate for these.
    pub async fn count_address(&self, address: IpAddr) -> Option<(&'static str, RateState)> {
        self.counted(Counted::Address(neighbourhood(address)), self.address_rate).await
    }

    async fn counted(&self, who: Counted, rate: Option<NonZeroU32>) -> Option<(&'static str, RateState)> {
        let policy = who.policy();
        Some((policy, self.rates.count(who, rate?).await))
    }

    /// Units that `caller` has used; `None` where it is unmetered, for then nothing is counted.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn used(&self, caller: &Caller) -> Result<Option<u64>, StoreError> {
        match caller.units {
            None => Ok(None),
            Some(_) => Ok(Some(self.store.get(&caller.meter()).await?.unwrap_or(0))),
        }
    }

    /// Units of one call at `price`.
    pub fn cost(&self, price: Price) -> u64 {
        price.cost(self.default_cost)
    }

    /// Sets `units` aside for a call, before its work is done. The store is asked only for a metered caller and more
    /// than 0 units. Who stops waiting for this has no units taken: what was under way is given back once it is there.
    ///
    /// # Errors
    /// [`AccessError::UnitsExhausted`] where the caller has fewer left; [`AccessError::Store`] where that could not be
    /// told.
    pub async fn reserve(&self, caller: &Caller, units: u64) -> Result<Reservation, AccessError> {
        let Some(limit) = caller.units.filter(|_| units > 0) else { return Ok(Reservation::free()) };
        let meter = caller.meter();
        let (store, moving) = (self.store.clone(), self.moving.clone());
        let (give, given) = oneshot::channel();
        self.moving.spawn(async move {
            let reserved = match store.take(&meter, units, limit).await {
                Ok(Take::Taken { used }) => {
                    Ok(Reservation::metered(store, meter, units, limit.saturating_sub(used), moving))
                }
                Ok(Take::Exhausted { used }) => Err(AccessError::UnitsExhausted { cost: units, used, limit }),
                Err(error) => Err(error.into()),
            };
            // Where nobody waits any more, the reservation is dropped here.
            drop(give.send(reserved));
        });
        given.await.unwrap_or(Err(AccessError::Store(StoreError::Stopped)))
    }

    /// Waits for units on their way to or from their keys: the last thing to do before the store is closed.
    pub async fn settle(&self) {
        self.moving.close();
        self.moving.wait().await;
    }
}

/// What one subscriber has: an IPv4 address, or the /64 of an IPv6 address.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.into(),
        IpAddr::V6(v6) => std::net::Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

fn hash(key: &str) -> KeyHash {
    Sha256::digest(key.as_bytes()).into()
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, key) = header.trim().split_once(' ')?;
    Some(key.trim_start()).filter(|key| scheme.eq_ignore_ascii_case("bearer") && !key.is_empty())
}
