//! A price from an external API, and whether it is credible.

use crate::tolerances;
use assay_domain::Address;

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
        let possible = self.dollars.is_finite() && self.dollars > 0.0 && self.dollars <= tolerances::MAX_DOLLARS;
        possible
            && now.saturating_sub(self.time) <= tolerances::API_MAX_AGE
            && self.time <= now.saturating_add(tolerances::API_AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_possible_and_of_the_last_hour() {
        let now = 1_800_000_000;
        let good = |dollars: f64, time: u64| StatedPrice { token: Address::ZERO, dollars, time }.is_credible(now);
        assert!(
            good(1.0, now)
                && good(1e-12, now - tolerances::API_MAX_AGE)
                && good(tolerances::MAX_DOLLARS, now + tolerances::API_AHEAD)
        );
        for dollars in [0.0, -1.0, f64::NAN, f64::INFINITY, tolerances::MAX_DOLLARS * 1.1] {
            assert!(!good(dollars, now), "{dollars}");
        }
        assert!(
            !good(1.0, now - tolerances::API_MAX_AGE - 1)
                && !good(1.0, now + tolerances::API_AHEAD + 1)
                && !good(1.0, 0)
        );
    }
}
