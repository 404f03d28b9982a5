//! Requests that were refused together, and the limit that they imply.

use super::window::{Amount, Unit};

#[derive(Debug, Default)]
pub(super) struct Refused {
    /// The load sent in the window of the first refusal.
    pub load: Amount,
    /// The lowest load at which a request was refused.
    least: Amount,
    amount: Amount,
}

impl Refused {
    pub(crate) fn of(load: Amount, first: Amount) -> Self {
        Self { load, least: first, amount: Amount::default() }
    }

    /// Adds a refused request, which was sent at `load`.
    pub(crate) fn add(&mut self, own: Amount, load: Amount) {
        self.amount.requests += own.requests;
        self.amount.calls += own.calls;
        if load.requests < self.least.requests {
            self.least = load;
        }
    }

    /// The lowest load that was too much, seen from the request of `own` that was refused last. Both ways to estimate
    /// it can be too low: requests overtake each other, and some endpoints count refused requests.
    pub(crate) fn too_much(&self, own: Amount, unit: Unit) -> f64 {
        let answered = self.load.of(unit) - self.amount.of(unit);
        self.least.of(unit).max(answered + own.of(unit))
    }
}
