//! The blocks among which the nonce of a wallet has reached a number.

use std::collections::BTreeSet;

/// The number is reached after block `low` and not later than after block `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    pub low: u64,
    pub high: u64,
    /// The nonce after `low` is known; `false` where `low` only marks the end of missing state.
    pub low_seen: bool,
}

impl Bracket {
    pub(super) fn is_over(self) -> bool {
        self.high <= self.low + 1
    }

    /// Number of blocks that may be the one.
    pub(super) fn width(self) -> u64 {
        self.high.saturating_sub(self.low)
    }

    /// At most `probes` blocks that divide it into equal parts.
    pub(super) fn probes(self, probes: u64) -> BTreeSet<u64> {
        let parts = u128::from(probes) + 1;
        let width = u128::from(self.width());
        let place = |part: u128| self.low + u64::try_from(width * part / parts).unwrap_or(u64::MAX);
        let inside = |block: &u64| *block > self.low && *block < self.high;
        (1..parts).map(place).filter(inside).collect()
    }
}
