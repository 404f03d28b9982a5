//! Expiry of cached answers by the one rule of [`Lifetimes`].

use std::time::{Duration, Instant};

use assay_domain::Lifetimes;
use moka::Expiry;

pub(crate) struct ByCompleteness<V> {
    pub lifetimes: Lifetimes,
    pub is_complete: fn(&V) -> bool,
}

impl<K, V> Expiry<K, V> for ByCompleteness<V> {
    fn expire_after_create(&self, _: &K, value: &V, _: Instant) -> Option<Duration> {
        Some(self.lifetimes.of((self.is_complete)(value)))
    }

    /// A new value starts a new lifetime.
    fn expire_after_update(&self, key: &K, value: &V, now: Instant, _: Option<Duration>) -> Option<Duration> {
        self.expire_after_create(key, value, now)
    }
}
