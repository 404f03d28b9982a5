//! Admission: the key of a caller, its scopes, its rate and its units. A key is compared by its SHA-256 only, so that
//! the time of a lookup reveals nothing about the key.
//!
//! A request passes [`Access::identify`], [`Access::count`], [`Caller::require`] and [`Access::reserve`], and ends its
//! [`Reservation`].

#![cfg_attr(not(test), warn(unreachable_pub))]

mod caller;
pub mod config;
mod error;
mod known;
mod lapse;
mod mint;
mod price_class;
mod rate;
pub mod records;
mod reservation;
#[cfg(test)]
mod tests;

use std::{
    collections::HashMap,
    net::IpAddr,
    num::NonZeroU32,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use moka::future::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::oneshot;

pub use caller::Caller;
pub use error::{AccessError, MintError};
pub use known::KnownKey;
pub use lapse::Lapse;
pub use mint::{Changed, KeyChange, Minted, Revoked, check_name, draw};
pub use price_class::PriceClass;
pub use rate::{Crowd, RateState, WINDOW};
pub use reservation::{Prepaid, Reservation};

use price_class::Costs;
use rate::{RateCount, Rates};

use assay_store::{Key, Store, StoreError, Take, Withdrawal};
use assay_tasks::Tracker;

/// SHA-256 of a key's text.
type KeyHash = [u8; 32];

/// The prefix of every minted key: no other key is looked up in the store.
const MINTED: &str = "assay_";
/// The lifetime of a cached lookup: a revoked key may be used for this long.
const LOOKUP_LIFETIME: Duration = Duration::from_secs(2);
/// Maximum number of cached lookups. Wrong keys are cached too, so that a guess does not always reach the store.
const LOOKUPS: u64 = 10_000;

/// How long a minted key that was valid is looked up again without a count against its address.
const SEEN_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The policy and the state of the rate that a request was counted against.
pub type Count = (&'static str, RateState);

/// A request after it was counted.
pub struct Admitted {
    pub caller: Result<Arc<Caller>, AccessError>,
    pub counted: Option<Count>,
    /// The units of the request, if they were reserved together with its count.
    pub prepaid: Option<Prepaid>,
}

/// Keys, scopes and units. Clones share it.
#[derive(Clone)]
pub struct Access {
    configured: Arc<HashMap<KeyHash, Arc<Caller>>>,
    /// Whether a minted key was ever found in the store.
    any_minted: Arc<AtomicBool>,
    minted: Cache<KeyHash, Option<Arc<Caller>>>,
    /// Minted keys that were valid a short time ago.
    seen: Cache<KeyHash, ()>,
    costs: Costs,
    default_rate: u32,
    address_rate: Option<NonZeroU32>,
    guest_rate: Option<NonZeroU32>,
    rates: Rates,
    store: Store,
    /// Tasks that take or refund units.
    pending: Tracker,
}

impl Access {
    pub fn new<Payments>(config: &config::Access<Payments>, store: Store) -> Self {
        let configured = config
            .keys
            .iter()
            .map(|key| (hash(key.key.expose()), Arc::new(Caller::configured(key, config.default_rate))))
            .collect();
        Self {
            configured: Arc::new(configured),
            any_minted: Arc::default(),
            minted: Cache::builder().max_capacity(LOOKUPS).time_to_live(LOOKUP_LIFETIME).build(),
            seen: Cache::builder().max_capacity(LOOKUPS).time_to_idle(SEEN_LIFETIME).build(),
            costs: Costs::new(config.default_cost, config.watch_cost),
            default_rate: config.default_rate,
            address_rate: NonZeroU32::new(config.address_rate),
            guest_rate: NonZeroU32::new(config.guest_rate),
            rates: Rates::new(store.clone()),
            store,
            pending: Tracker::new(),
        }
    }

    /// The same keys and rates, with calls that cost no units.
    #[must_use]
    pub fn free(self) -> Self {
        Self { costs: Costs::NONE, ..self }
    }

    /// The caller of a key. `authorization` is the header value, `Bearer <key>`.
    ///
    /// # Errors
    /// [`AccessError::MissingOrInvalid`] without a known key; [`AccessError::Store`] when the lookup fails.
    pub async fn identify(&self, authorization: Option<&str>) -> Result<Arc<Caller>, AccessError> {
        let key = authorization.and_then(bearer).ok_or(AccessError::MissingOrInvalid)?;
        let hash = hash(key);
        if let Some(caller) = self.configured.get(&hash) {
            return Ok(caller.clone());
        }
        if !key.starts_with(MINTED) {
            return Err(AccessError::MissingOrInvalid);
        }
        let found = self.minted_key_of(hash).await?;
        if found.is_some() {
            self.seen.insert(hash, ()).await;
        }
        found.ok_or(AccessError::MissingOrInvalid)
    }

    /// The minted key with this hash, looked up at most every two seconds.
    async fn minted_key_of(&self, hash: KeyHash) -> Result<Option<Arc<Caller>>, StoreError> {
        let lookup = async {
            let record = self.store.get(&records::api_key(&hash)).await?;
            Ok(record.map(|record| Arc::new(Caller::minted(&hash, record, self.default_rate))))
        };
        self.minted.try_get_with(hash, lookup).await.map_err(|error: Arc<StoreError>| (*error).clone())
    }

    /// The caller of a request from `address`, and its count: of the key, or of the address without a valid key. A key
    /// that was never valid here is looked up in the store only within the rate of its address, so that guesses do not
    /// load the store. If one write can count the request and take the units of `price`, they are reserved ahead.
    pub async fn admit(&self, authorization: Option<&str>, address: IpAddr, price: Option<PriceClass>) -> Admitted {
        let before = if self.is_new(authorization) { self.count_address(address).await } else { None };
        if before.is_some_and(|(_, state)| state.refused.is_some()) {
            return Admitted { caller: Err(AccessError::MissingOrInvalid), counted: before, prepaid: None };
        }
        let caller = self.identify(authorization).await;
        let (counted, prepaid) = match (&caller, before) {
            (Ok(caller), _) => self.count_and_reserve(caller, price).await,
            (Err(_), Some(before)) => (Some(before), None),
            (Err(_), None) => (self.count_address(address).await, None),
        };
        Admitted { caller, counted, prepaid }
    }

    /// Counts a request of `caller`, and reserves the units of `price` with it if one write can do both.
    async fn count_and_reserve(&self, caller: &Caller, price: Option<PriceClass>) -> (Option<Count>, Option<Prepaid>) {
        let price = price.filter(|price| self.store.is_shared() && caller.require(price.scopes()).is_ok());
        let units = price.map_or(0, |price| self.cost(price));
        let (Some(rate), Some(limit), 1..) = (caller.rate, caller.units, units) else {
            return (self.count(caller).await, None);
        };
        let (who, meter) = (RateCount::Key(caller.identity().to_owned()), caller.meter());
        let (sender, both) = oneshot::channel();
        let (token, taken) = (self.pending.token(), self.taken(meter.clone(), units, limit));
        let withdrawal = Withdrawal { counter: &meter, amount: units, limit };
        self.rates.count_and_take(&who, rate, withdrawal, move |both| {
            // Without a receiver the reservation is dropped here, which refunds the units.
            drop(sender.send(both.map(|(state, take)| (state, take.map(|take| Prepaid::new(units, taken(Ok(take))))))));
            drop(token);
        });
        match both.await.ok().flatten() {
            Some((state, prepaid)) => (Some((who.policy(), state)), prepaid),
            None => (self.count(caller).await, None),
        }
    }

    /// Whether a key has the form of a minted one, and was not valid here a short time ago.
    fn is_new(&self, authorization: Option<&str>) -> bool {
        let key = authorization.and_then(bearer).filter(|key| key.starts_with(MINTED));
        key.map(hash).is_some_and(|hash| !self.configured.contains_key(&hash) && !self.seen.contains_key(&hash))
    }

    /// Counts a request of `caller`; `None` when its key has no rate.
    pub async fn count(&self, caller: &Caller) -> Option<Count> {
        self.counted(RateCount::Key(caller.identity().to_owned()), caller.rate).await
    }

    /// Counts a request from `address` without a valid key; `None` when addresses have no rate.
    pub(crate) async fn count_address(&self, address: IpAddr) -> Option<Count> {
        self.counted(RateCount::Address(neighbourhood(address)), self.address_rate).await
    }

    /// Counts a request of `crowd`, after that of its address; `None` when the crowd has no rate.
    pub async fn count_crowd(&self, crowd: Crowd) -> Option<Count> {
        self.counted(RateCount::Crowd(crowd), self.guest_rate).await
    }

    async fn counted(&self, who: RateCount, rate: Option<NonZeroU32>) -> Option<Count> {
        let policy = who.policy();
        Some((policy, self.rates.count(who, rate?).await))
    }

    /// Units that `caller` has used; `None` for an unmetered key.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn used(&self, caller: &Caller) -> Result<Option<u64>, StoreError> {
        match caller.units {
            None => Ok(None),
            Some(_) => Ok(Some(self.store.get(&caller.meter()).await?.unwrap_or(0))),
        }
    }

    /// Why a batch that [takes](Caller::take) `units` of `caller` was refused; `None` if it has enough left.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn exhausted(&self, caller: &Caller, units: u64) -> Result<Option<AccessError>, StoreError> {
        let (Some(limit), 1..) = (caller.units, units) else { return Ok(None) };
        let used = self.used(caller).await?.unwrap_or(0);
        let is_short = used.saturating_add(units) > limit;
        Ok(is_short.then_some(AccessError::UnitsExhausted { cost: units, used, limit }))
    }

    /// Units of one call at `price`.
    pub fn cost(&self, price: PriceClass) -> u64 {
        price.cost(self.costs)
    }

    /// Reserves `units` for a call, before its work. Only a metered caller and more than 0 units reach the store. When
    /// the caller of this function is dropped, the units are refunded after they were taken.
    ///
    /// # Errors
    /// [`AccessError::UnitsExhausted`] when the key has fewer units left; [`AccessError::Store`] when the store fails.
    pub async fn reserve(&self, caller: &Caller, units: u64) -> Result<Reservation, AccessError> {
        let Some(limit) = caller.units.filter(|_| units > 0) else { return Ok(Reservation::free()) };
        let meter = caller.meter();
        let (sender, reserved) = oneshot::channel();
        let (token, taken) = (self.pending.token(), self.taken(meter.clone(), units, limit));
        self.store.take_then(Withdrawal { counter: &meter, amount: units, limit }, move |take| {
            // Without a receiver the reservation is dropped here, which refunds the units.
            drop(sender.send(taken(take)));
            drop(token);
        });
        reserved.await.unwrap_or(Err(AccessError::Store(StoreError::Stopped)))
    }

    /// The reservation of units that were taken, or why they were not.
    fn taken(
        &self,
        meter: Key<u64>,
        units: u64,
        limit: u64,
    ) -> impl FnOnce(Result<Take, StoreError>) -> Result<Reservation, AccessError> + Send + 'static {
        let (store, pending) = (self.store.clone(), self.pending.clone());
        move |take| match take? {
            Take::Taken { used } => Ok(Reservation::metered(store, meter, units, limit.saturating_sub(used), pending)),
            Take::Exhausted { used } => Err(AccessError::UnitsExhausted { cost: units, used, limit }),
        }
    }

    /// Completes work that takes or refunds units even if its caller is dropped. [`settle`](Self::settle) waits for it.
    ///
    /// # Errors
    /// As [`Tracker::complete`].
    pub async fn complete<T: Send + 'static>(
        &self,
        name: &'static str,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T, String> {
        self.pending.complete(name, work).await
    }

    /// Waits until every take and refund has ended: the last step before the store closes.
    pub async fn settle(&self) {
        self.pending.close();
        self.pending.wait().await;
        self.store.settle().await;
    }
}

/// The network of one subscriber: an IPv4 address, or the /64 of an IPv6 address.
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
