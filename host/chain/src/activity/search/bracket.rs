//! The blocks among which a transaction is, and the blocks that divide them.

use std::collections::BTreeSet;

/// The blocks among which the nonce of a wallet reached a number: after block `low`, and not later than after `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bracket {
    pub low: u64,
    pub high: u64,
    /// The nonce after `low` is known; `false` if `low` only marks the end of missing state.
    pub low_seen: bool,
}

impl Bracket {
    pub(super) fn is_over(self) -> bool {
        self.high <= self.low + 1
    }

    /// The number of candidate blocks.
    pub(super) fn width(self) -> u64 {
        self.high.saturating_sub(self.low)
    }

    pub(super) fn ends(self) -> [u64; 2] {
        [self.low, self.high]
    }

    /// At most `probes` blocks that divide it into equal parts.
    pub(super) fn probes(self, probes: u64) -> BTreeSet<u64> {
        let parts = u128::from(probes) + 1;
        let width = u128::from(self.width());
        let place = |part: u128| self.low + u64::try_from(width * part / parts).unwrap_or(u64::MAX);
        self.inside((1..parts).map(place))
    }

    /// At most `probes` blocks around `middle`: it and the block before it decide on which side of it the transaction
    /// is; the others do so if `middle` is a guess that is off by a few blocks.
    pub(super) fn around(self, middle: u64, probes: u64) -> BTreeSet<u64> {
        let off = (self.width() / 32).max(2);
        let [before, after] = [middle.saturating_sub(off), middle.saturating_add(off)];
        let places = [middle, middle.saturating_sub(1), after, before];
        self.inside(places.into_iter().take(usize::try_from(probes).unwrap_or(usize::MAX)))
    }

    fn inside(self, places: impl Iterator<Item = u64>) -> BTreeSet<u64> {
        places.filter(|block| *block > self.low && *block < self.high).collect()
    }
}
