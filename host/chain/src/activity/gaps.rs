//! A histogram of the times between transactions, which gives their median in bounded memory and can be continued by
//! later reads. Up to 31 seconds each time has a class; above, each power of two is divided into 16 classes, so that
//! the median is exact to 1 part in 32.

use std::collections::BTreeMap;

/// Classes of one power of two.
const PARTS: u64 = 16;
const EXACT: u64 = 2 * PARTS;

/// Counts a time between two transactions, in seconds.
pub(super) fn count(gaps: &mut BTreeMap<u32, u64>, seconds: u64) {
    *gaps.entry(class(seconds)).or_default() += 1;
}

/// The middle of the median's class; `None` without times. For an even number of times, the longer of the two middle
/// ones.
pub(super) fn median(gaps: &BTreeMap<u32, u64>) -> Option<u64> {
    let all: u64 = gaps.values().sum();
    let mut passed = 0;
    gaps.iter()
        .find(|(_, count)| {
            passed += **count;
            passed > all / 2
        })
        .map(|(class, _)| middle(*class))
}

fn class(seconds: u64) -> u32 {
    if seconds < EXACT {
        return u32::try_from(seconds).unwrap_or(0);
    }
    let doublings = seconds.ilog2() - PARTS.ilog2();
    let part = seconds >> doublings;
    doublings * u32::try_from(PARTS).unwrap_or(0) + u32::try_from(part).unwrap_or(0)
}

fn middle(class: u32) -> u64 {
    let class = u64::from(class);
    if class < EXACT {
        return class;
    }
    let doublings = class / PARTS - 1;
    let part = class - doublings * PARTS;
    let start = part.checked_shl(u32::try_from(doublings).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
    start.saturating_add((1u64.checked_shl(u32::try_from(doublings).unwrap_or(u32::MAX)).unwrap_or(0)) / 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_median_is_right_to_one_part_in_32(mut times in proptest::collection::vec(0u64..400_000_000, 1..200)) {
            let mut gaps = BTreeMap::new();
            times.iter().for_each(|time| count(&mut gaps, *time));
            times.sort_unstable();
            let (median, exact) = (median(&gaps).unwrap(), times[times.len() / 2]);
            prop_assert!(median.abs_diff(exact) <= exact / 32 + 1, "{} for {}", median, exact);
        }
    }

    #[test]
    fn short_times_are_exact() {
        for seconds in 0..=40 {
            assert_eq!(
                median(&BTreeMap::from([(class(seconds), 1)])).unwrap().abs_diff(seconds),
                u64::from(seconds >= 32 && seconds % 2 == 0),
                "{seconds}"
            );
        }
        assert_eq!(median(&BTreeMap::new()), None);
    }
}
