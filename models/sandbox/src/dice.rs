//! Numbers drawn from the bytes of an address: the same bytes, the same numbers, on every machine.

use std::ops::RangeInclusive;

/// A stream of numbers (SplitMix64) seeded by the bytes (FNV-1a) and by what is drawn.
pub struct Dice(u64);

impl Dice {
    /// The stream for one `topic`, so that drawing more of one thing changes nothing else.
    pub fn new(address: &[u8], topic: u64) -> Self {
        let hash = address.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3));
        Self(hash ^ topic.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `range`, each as likely up to a bias nobody can see; its start where the range is empty.
    pub fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = range.into_inner();
        low + self.next() % high.saturating_sub(low).saturating_add(1)
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.within(0..=99) < percent
    }

    /// Distinct indices below `of`, at least one and at most `count` of them, in rising order.
    pub fn choose(&mut self, count: usize, of: usize) -> Vec<usize> {
        let mut left = count.clamp(1, of.max(1));
        (0..of)
            .filter(|at| {
                let remaining = (of - at) as u64;
                let taken = (self.next() % remaining) < left as u64;
                left -= usize::from(taken);
                taken
            })
            .collect()
    }
}
