//! How many requests somebody may make a minute: all of them at once, or evenly, and what is used comes back evenly.
//! Hosts that share a store count there together; a host by itself, or one whose store does not answer, counts in its
//! own process.

use crate::access::records::{self};
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

use assay_store::{Admission, Key, Store};

/// Time over which a rate counts.
pub const WINDOW: Duration = Duration::from_secs(60);
/// Most callers whose requests are counted in this process; of more, those are forgotten that came longest ago.
const COUNTED: u64 = 100_000;

/// Who is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Counted {
    /// A key, by its identity.
    Key(String),
    /// Where callers without a valid key come from.
    Address(std::net::IpAddr),
}

impl Counted {
    /// Name of the policy.
    pub fn policy(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Address(_) => "address",
        }
    }

    /// Where hosts count together.
    fn key(&self) -> Key<u64> {
        match self {
            Self::Key(identity) => records::rate(self.policy(), identity),
            Self::Address(address) => records::rate(self.policy(), &address.to_string()),
        }
    }
}

/// How somebody stands after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Requests a minute.
    pub rate: NonZeroU32,
    /// Requests that could be made at once.
    pub left: u32,
    /// Until the next request is allowed, where this one was not.
    pub refused: Option<Duration>,
}

impl Standing {
    /// Until as many requests as ever could be made at once.
    pub fn resets_in(&self) -> Duration {
        let used = self.rate.get().saturating_sub(self.left);
        WINDOW.mul_f64(f64::from(used) / f64::from(self.rate.get()))
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, DefaultClock, StateInformationMiddleware>;

/// The counts of everybody. Clones share them.
#[derive(Clone)]
pub struct Rates {
    store: Store,
    limiters: Cache<(Counted, NonZeroU32), Arc<Limiter>>,
}

impl Rates {
    pub fn new(store: Store) -> Self {
        // Whoever did not come for a window has their whole quota again, and need not be remembered.
        Self { store, limiters: Cache::builder().max_capacity(COUNTED).time_to_idle(WINDOW).build() }
    }

    /// Counts a request of `who` against `rate`.
    pub async fn count(&self, who: Counted, rate: NonZeroU32) -> Standing {
        match self.store.admit(&who.key(), rate, WINDOW).await {
            Some(Admission::Allowed { left }) => Standing { rate, left, refused: None },
            Some(Admission::Refused { wait }) => Standing { rate, left: 0, refused: Some(wait) },
            None => self.count_here(who, rate).await,
        }
    }

    async fn count_here(&self, who: Counted, rate: NonZeroU32) -> Standing {
        let fresh = async {
            Arc::new(RateLimiter::direct(Quota::per_minute(rate)).with_middleware::<StateInformationMiddleware>())
        };
        let limiter = self.limiters.get_with((who, rate), fresh).await;
        match limiter.check() {
            Ok(state) => Standing { rate, left: state.remaining_burst_capacity(), refused: None },
            Err(until) => Standing { rate, left: 0, refused: Some(wait(&until)) },
        }
    }
}

fn wait(until: &NotUntil<Instant>) -> Duration {
    until.wait_time_from(DefaultClock::default().now())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[tokio::test]
    async fn each_has_a_quota_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let rates = Rates::new(Store::open(&config::Store::embedded(folder.path().join("assay.redb"))).await.unwrap());
        let rate = NonZeroU32::new(2).unwrap();
        let key = |name: &str| Counted::Key(name.to_owned());
        let left = |standing: Standing| (standing.left, standing.refused.is_some(), standing.resets_in().as_secs());
        assert_eq!(left(rates.count(key("a"), rate).await), (1, false, 30));
        assert_eq!(left(rates.count(key("a"), rate).await), (0, false, 60));
        let refused = rates.count(key("a"), rate).await;
        assert_eq!(left(refused), (0, true, 60));
        assert!(refused.refused.is_some_and(|wait| wait <= Duration::from_secs(30)), "{refused:?}");
        assert_eq!(left(rates.count(key("b"), rate).await), (1, false, 30));
        assert_eq!(left(rates.count(Counted::Address([127, 0, 0, 1].into()), rate).await), (1, false, 30));
    }
}
