//! A rate limit like those of providers: a bucket that refills evenly and holds one second's worth.

use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// The unit of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    Requests,
    /// Every call of a batch counts.
    Calls,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub counted: Counted,
    pub per_second: u32,
    /// `Retry-After` of a refusal, in seconds.
    pub retry_after: Option<u64>,
}

pub(crate) struct Bucket {
    limit: Limit,
    /// The remaining amount, and the time of its last update.
    left: Mutex<(f64, Instant)>,
}

impl Bucket {
    pub fn new(limit: Limit) -> Self {
        Self { limit, left: Mutex::new((f64::from(limit.per_second), Instant::now())) }
    }

    /// Returns `None` if a request with this many calls is within the limit, otherwise the `Retry-After` of its
    /// refusal.
    pub fn refusal(&self, calls: usize, now: Instant) -> Option<Option<u64>> {
        let cost = if self.limit.counted == Counted::Calls { calls as f64 } else { 1.0 };
        let most = f64::from(self.limit.per_second);
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let filled = (left.0 + most * (now - left.1).as_secs_f64()).min(most);
        let passes = cost <= filled;
        *left = (if passes { filled - cost } else { filled }, now);
        (!passes).then_some(self.limit.retry_after)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_second_refills_what_a_second_may_cost() {
        let bucket = Bucket::new(Limit { counted: Counted::Calls, per_second: 10, retry_after: Some(1) });
        let (start, refused) = (Instant::now(), Some(Some(1)));
        assert_eq!([11, 10, 1].map(|calls| bucket.refusal(calls, start)), [refused, None, refused]);
        let later = start + Duration::from_millis(500);
        assert_eq!([6, 5].map(|calls| bucket.refusal(calls, later)), [refused, None]);
    }
}
