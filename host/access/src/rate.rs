//! Request rates: a token bucket of one minute for each key and for each address. Hosts that share a Redis store share
//! the counts. A host with an embedded store, or without a response from Redis, counts in its own process.

use std::{
    num::NonZeroU32,
    sync::Arc,
    time::{Duration, Instant},
};

use governor::{
    NotUntil, Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::StateInformationMiddleware,
    state::{InMemoryState, NotKeyed},
};
use moka::future::Cache;

use super::records;
use assay_store::{Admission, Key, RateLimit, Store, Take, Withdrawal};

/// The time window of a rate.
pub const WINDOW: Duration = Duration::from_secs(60);
/// Maximum number of callers counted in this process. Beyond that, the least recent callers are forgotten.
const COUNTED: u64 = 100_000;

/// The subject of a rate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum RateCount {
    /// A key, by its identity.
    Key(String),
    /// The address of callers without a valid key.
    Address(std::net::IpAddr),
    Crowd(Crowd),
}

/// Callers without a valid key who share one rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Crowd {
    /// Those who read what payments open.
    Guests,
    /// Those who present a payment.
    Payers,
}

impl RateCount {
    /// Name of the policy.
    pub(crate) fn policy(&self) -> &'static str {
        match self {
            Self::Key(_) => records::KEY,
            Self::Address(_) => "address",
            Self::Crowd(Crowd::Guests) => "guests",
            Self::Crowd(Crowd::Payers) => "payers",
        }
    }

    /// The key of the count that hosts share.
    fn key(&self) -> Key<u64> {
        match self {
            Self::Key(identity) => records::rate(self.policy(), identity),
            Self::Address(address) => records::rate(self.policy(), &address.to_string()),
            Self::Crowd(_) => records::rate(self.policy(), "all"),
        }
    }
}

/// The state of a rate after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateState {
    /// Requests a minute.
    pub rate: NonZeroU32,
    /// Remaining requests.
    pub left: u32,
    /// The time until the next request is allowed, if this one was refused.
    pub refused: Option<Duration>,
}

impl RateState {
    fn after(admission: Admission, rate: NonZeroU32) -> Self {
        match admission {
            Admission::Allowed { left } => Self { rate, left, refused: None },
            Admission::Refused { wait } => Self { rate, left: 0, refused: Some(wait) },
        }
    }

    /// The time until the quota is full again.
    pub fn resets_in(&self) -> Duration {
        let used = self.rate.get().saturating_sub(self.left);
        WINDOW.mul_f64(f64::from(used) / f64::from(self.rate.get()))
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// The counts of all callers. Clones share them.
#[derive(Clone)]
pub(crate) struct Rates {
    store: Store,
    limiters: Cache<(RateCount, NonZeroU32), Arc<Limiter>>,
}

impl Rates {
    pub(crate) fn new(store: Store) -> Self {
        // After an idle window the quota is full again, so the count can be forgotten.
        Self { store, limiters: Cache::builder().max_capacity(COUNTED).time_to_idle(WINDOW).build() }
    }

    /// Counts a request of `who` against `rate`.
    pub(crate) async fn count(&self, who: RateCount, rate: NonZeroU32) -> RateState {
        match self.store.admit(&who.key(), rate, WINDOW).await {
            Some(admission) => RateState::after(admission, rate),
            None => self.count_here(who, rate).await,
        }
    }

    /// Counts a request of `who` against `rate` and takes `units` in one write; nothing is taken for a refused request.
    /// Calls `told` with `None` if the caller must do both separately.
    pub(crate) fn count_and_take(
        &self,
        who: &RateCount,
        rate: NonZeroU32,
        units: Withdrawal<'_>,
        told: impl FnOnce(Option<(RateState, Option<Take>)>) + Send + 'static,
    ) {
        self.store.admit_and_take(RateLimit { key: &who.key(), rate, window: WINDOW }, units, move |both| {
            told(both.map(|(admission, take)| (RateState::after(admission, rate), take)));
        });
    }

    async fn count_here(&self, who: RateCount, rate: NonZeroU32) -> RateState {
        let fresh = async {
            Arc::new(RateLimiter::direct(Quota::per_minute(rate)).with_middleware::<StateInformationMiddleware>())
        };
        let limiter = self.limiters.get_with((who, rate), fresh).await;
        match limiter.check() {
            Ok(state) => RateState { rate, left: state.remaining_burst_capacity(), refused: None },
            Err(until) => RateState { rate, left: 0, refused: Some(wait(&until)) },
        }
    }
}

fn wait(until: &NotUntil<Instant>) -> Duration {
    until.wait_time_from(DefaultClock::default().now())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_has_a_quota_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let rates = Rates::new(
            Store::open(&assay_store::config::Store::embedded(folder.path().join("assay.redb"))).await.unwrap(),
        );
        let rate = NonZeroU32::new(2).unwrap();
        let key = |name: &str| RateCount::Key(name.to_owned());
        let left = |state: RateState| (state.left, state.refused.is_some(), state.resets_in().as_secs());
        assert_eq!(left(rates.count(key("a"), rate).await), (1, false, 30));
        assert_eq!(left(rates.count(key("a"), rate).await), (0, false, 60));
        let refused = rates.count(key("a"), rate).await;
        assert_eq!(left(refused), (0, true, 60));
        assert!(refused.refused.is_some_and(|wait| wait <= Duration::from_secs(30)), "{refused:?}");
        assert_eq!(left(rates.count(key("b"), rate).await), (1, false, 30));
        assert_eq!(left(rates.count(RateCount::Address([127, 0, 0, 1].into()), rate).await), (1, false, 30));
    }
}
