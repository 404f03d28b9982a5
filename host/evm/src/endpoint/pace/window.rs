//! The load sent or answered within the last second.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

use crate::pauses;

/// The unit that an endpoint counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoadUnit {
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
    pub(crate) fn of(self, unit: LoadUnit) -> f64 {
        match unit {
            LoadUnit::Requests => self.requests as f64,
            LoadUnit::Calls => self.calls as f64,
        }
    }
}

/// The load within the last [`pauses::RATE_WINDOW`].
#[derive(Debug, Default)]
pub(super) struct LoadWindow {
    /// Each request with its calls.
    requests: VecDeque<(Instant, usize)>,
    amount: Amount,
}

impl LoadWindow {
    pub(crate) fn add(&mut self, calls: usize, now: Instant) {
        self.drop_old(now);
        self.requests.push_back((now, calls));
        self.amount.requests += 1;
        self.amount.calls += calls;
    }

    pub(crate) fn drop_old(&mut self, now: Instant) {
        while let Some((_, calls)) = self.requests.pop_front_if(|(at, _)| *at + pauses::RATE_WINDOW <= now) {
            self.amount.requests -= 1;
            self.amount.calls -= calls;
        }
    }

    /// The amount after the last change.
    pub(crate) fn amount(&self) -> Amount {
        self.amount
    }

    pub(crate) fn until_oldest_leaves(&self, now: Instant) -> Duration {
        self.requests
            .front()
            .map_or(Duration::ZERO, |(at, _)| (*at + pauses::RATE_WINDOW).saturating_duration_since(now))
    }
}

/// Requests that were refused together, and the limit that they imply.
#[derive(Debug, Default)]
pub(super) struct RefusedLoad {
    /// The load sent in the window of the first refusal.
    pub load: Amount,
    /// The lowest load at which a request was refused.
    least: Amount,
    amount: Amount,
}

impl RefusedLoad {
    pub(crate) fn of(load: Amount, first: Amount) -> Self {
        Self { load, least: first, amount: Amount::default() }
    }

    /// Adds a request of `own` that was sent at `load` and refused.
    pub(crate) fn add(&mut self, own: Amount, load: Amount) {
        self.amount.requests += own.requests;
        self.amount.calls += own.calls;
        if load.requests < self.least.requests {
            self.least = load;
        }
    }

    /// The lowest load that was too high, as of the request of `own` that was refused last. Both estimates can be too
    /// low: requests overtake each other, and some endpoints count refused requests.
    pub(crate) fn too_much(&self, own: Amount, unit: LoadUnit) -> f64 {
        let answered = self.load.of(unit) - self.amount.of(unit);
        self.least.of(unit).max(answered + own.of(unit))
    }
}
