//! A price from an external API, and whether it is credible.

use assay_domain::Address;

/// Maximum age of a price, in seconds. The APIs' default of six hours would value a wallet at prices from an earlier
/// part of the day.
const MAX_AGE: u64 = 3_600;
/// Maximum time that a price may be ahead of this host's clock, in seconds.
const SKEW: u64 = 300;
/// No token is worth more; a wrong price above this would dominate every sum.
const MAX_DOLLARS: f64 = 1e9;

/// A stated price.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StatedPrice {
    pub token: Address,
    pub dollars: f64,
    /// Seconds since 1970.
    pub time: u64,
}

impl StatedPrice {
    /// Whether the price is possible, and recent at `now`.
    pub(super) fn is_credible(&self, now: u64) -> bool {
        let possible = self.dollars.is_finite() && self.dollars > 0.0 && self.dollars <= MAX_DOLLARS;
        possible && now.saturating_sub(self.time) <= MAX_AGE && self.time <= now.saturating_add(SKEW)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_possible_and_of_the_last_hour() {
        let now = 1_800_000_000;
        let good = |dollars: f64, time: u64| StatedPrice { token: Address::ZERO, dollars, time }.is_credible(now);
        assert!(good(1.0, now) && good(1e-12, now - MAX_AGE) && good(MAX_DOLLARS, now + SKEW));
        for dollars in [0.0, -1.0, f64::NAN, f64::INFINITY, MAX_DOLLARS * 1.1] {
            assert!(!good(dollars, now), "{dollars}");
        }
        assert!(!good(1.0, now - MAX_AGE - 1) && !good(1.0, now + SKEW + 1) && !good(1.0, 0));
    }
}
