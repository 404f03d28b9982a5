//! Which range an address lands in, its score, and how a wallet of that range lives.

use std::ops::RangeInclusive;

use crate::dice::Dice;

/// How wallets of one range live. Ranges are inclusive, days count back from the sandbox's last day.
pub struct Band {
    pub scores: RangeInclusive<u64>,
    /// Hundredths of all addresses.
    share: u64,
    pub dollars: RangeInclusive<u64>,
    pub days: RangeInclusive<u64>,
    pub transactions: RangeInclusive<u64>,
    pub chains: RangeInclusive<u64>,
    pub loans: RangeInclusive<u64>,
    /// Hundredths of the loans that were repaid.
    pub repaid: RangeInclusive<u64>,
    pub liquidations: RangeInclusive<u64>,
}

/// Worst first. The shares are those published for scored borrowers on this scale, so a tester's averages look like
/// production's.
static BANDS: [Band; 5] = [
    Band {
        scores: 300..=639,
        share: 7,
        dollars: 50..=2_000,
        days: 20..=400,
        transactions: 5..=120,
        chains: 1..=2,
        loans: 0..=4,
        repaid: 0..=60,
        liquidations: 0..=2,
    },
    Band {
        scores: 640..=749,
        share: 12,
        dollars: 1_000..=8_000,
        days: 200..=1_000,
        transactions: 40..=400,
        chains: 1..=3,
        loans: 1..=8,
        repaid: 40..=90,
        liquidations: 0..=1,
    },
    Band {
        scores: 750..=839,
        share: 34,
        dollars: 5_000..=40_000,
        days: 500..=1_800,
        transactions: 150..=1_200,
        chains: 2..=4,
        loans: 3..=20,
        repaid: 70..=100,
        liquidations: 0..=0,
    },
    Band {
        scores: 840..=919,
        share: 20,
        dollars: 25_000..=150_000,
        days: 900..=2_600,
        transactions: 400..=3_000,
        chains: 2..=5,
        loans: 8..=45,
        repaid: 85..=100,
        liquidations: 0..=0,
    },
    Band {
        scores: 920..=1_000,
        share: 27,
        dollars: 80_000..=600_000,
        days: 1_400..=3_200,
        transactions: 800..=8_000,
        chains: 3..=5,
        loans: 20..=120,
        repaid: 90..=100,
        liquidations: 0..=0,
    },
];

/// The scores of 0x…01 to 0x…04: excellent, good, fair and low, so that a tester reaches each on purpose.
const FIXED: [u64; 4] = [950, 795, 695, 520];

/// 300 to 1000.
pub fn score(address: &[u8]) -> u32 {
    let score = match address {
        [zeros @ .., last @ 1..=4] if zeros.len() == 19 && zeros.iter().all(|byte| *byte == 0) => {
            FIXED.get(usize::from(*last) - 1).copied().unwrap_or(300)
        }
        _ => drawn(&mut Dice::new(address, 0)),
    };
    u32::try_from(score).unwrap_or(300)
}

fn drawn(dice: &mut Dice) -> u64 {
    let mut left = dice.within(0..=99);
    for band in &BANDS {
        if left < band.share {
            return dice.within(band.scores.clone());
        }
        left -= band.share;
    }
    300
}

/// The band that `score` is in.
pub fn of(score: u32) -> &'static Band {
    let [lowest, higher @ ..] = &BANDS;
    higher.iter().rev().find(|band| u64::from(score) >= *band.scores.start()).unwrap_or(lowest)
}
