//! A limit of rate, as endpoints have it: over the second that just went by.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// What is refused with status 429.
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    pub per_second: usize,
    /// Each call of a batch counts.
    pub counts_calls: bool,
    /// `Retry-After`, in seconds.
    pub after: Option<u64>,
}

/// The requests since a limit was set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    pub requests: usize,
    pub refused: usize,
}

#[derive(Default)]
pub(super) struct Limiter {
    limit: Option<Limit>,
    counted: VecDeque<(Instant, usize)>,
    pub tally: Tally,
}

impl Limiter {
    pub fn new(limit: Limit) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Counts a request of that many calls, and returns the limit that refuses it.
    pub fn refuses(&mut self, calls: usize) -> Option<Limit> {
        let limit = self.limit?;
        self.tally.requests += 1;
        let now = Instant::now();
        while self.counted.pop_front_if(|(at, _)| now.duration_since(*at) >= Duration::from_secs(1)).is_some() {}
        let amount = if limit.counts_calls { calls } else { 1 };
        if self.counted.iter().map(|(_, amount)| amount).sum::<usize>() + amount <= limit.per_second {
            self.counted.push_back((now, amount));
            return None;
        }
        self.tally.refused += 1;
        Some(limit)
    }
}
