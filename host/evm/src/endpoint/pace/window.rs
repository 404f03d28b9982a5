//! The load sent or answered within the last second.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Requests take different times to arrive: those sent within more than a second may arrive within one.
pub(super) const MARGIN: Duration = Duration::from_millis(100);
/// Endpoints count per second.
pub(super) const WINDOW: Duration = Duration::from_secs(1).saturating_add(MARGIN);

/// The unit that an endpoint counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Requests,
    /// Each call in a batch.
    Calls,
}

/// Requests, and the calls in them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Amount {
    pub requests: usize,
    pub calls: usize,
}

impl Amount {
    pub(crate) fn of(self, unit: Unit) -> f64 {
        match unit {
            Unit::Requests => self.requests as f64,
            Unit::Calls => self.calls as f64,
        }
    }
}

/// The load within the last [`WINDOW`].
#[derive(Debug, Default)]
pub(super) struct Window {
    /// Each request with its calls.
    requests: VecDeque<(Instant, usize)>,
    amount: Amount,
}

impl Window {
    pub(crate) fn add(&mut self, calls: usize, now: Instant) {
        self.drop_old(now);
        self.requests.push_back((now, calls));
        self.amount.requests += 1;
        self.amount.calls += calls;
    }

    pub(crate) fn drop_old(&mut self, now: Instant) {
        while let Some((_, calls)) = self.requests.pop_front_if(|(at, _)| *at + WINDOW <= now) {
            self.amount.requests -= 1;
            self.amount.calls -= calls;
        }
    }

    /// The amount after the last change.
    pub(crate) fn amount(&self) -> Amount {
        self.amount
    }

    pub(crate) fn until_oldest_leaves(&self, now: Instant) -> Duration {
        self.requests.front().map_or(Duration::ZERO, |(at, _)| (*at + WINDOW).saturating_duration_since(now))
    }
}
