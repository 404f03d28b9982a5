//! The rate limit of the reader of one chain's index, in requests a second.

use std::num::NonZeroU32;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

/// `None` inside: as many as the endpoint takes.
pub struct Budget(Option<DefaultDirectRateLimiter>);

impl Budget {
    /// 0 for no limit.
    pub fn new(per_second: u32) -> Self {
        Self(NonZeroU32::new(per_second).map(|rate| RateLimiter::direct(Quota::per_second(rate))))
    }

    /// Waits until `requests` more may be sent.
    pub async fn spend(&self, requests: usize) {
        let Some(limiter) = &self.0 else { return };
        for _ in 0..requests {
            limiter.until_ready().await;
        }
    }
}
