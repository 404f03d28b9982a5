//! The expected duration of a submission: the median of the latest ones, as often as the queue before it needs.

/// The estimate of the contract, before any submission is confirmed.
pub(super) const USUAL: u32 = 45;
/// Durations that are stored.
const REMEMBERED: usize = 32;

/// The seconds of a submission behind `ahead` others, of which `at_once` are worked on at a time; at least 1.
/// `usual` is that of one before any was confirmed.
pub(super) fn expected(durations: &[u32], usual: u32, ahead: usize, at_once: usize) -> u32 {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    let alone = sorted.get(sorted.len() / 2).map_or(usual, |median| (*median).max(1));
    alone.saturating_mul(turns(ahead, at_once))
}

/// `durations` with `seconds` added, and without the oldest beyond the limit. A submission that had `ahead` others
/// before it counts as if it had been the only one.
pub(super) fn remembered(mut durations: Vec<u32>, seconds: u32, ahead: usize, at_once: usize) -> Vec<u32> {
    durations.push(seconds / turns(ahead, at_once));
    let surplus = durations.len().saturating_sub(REMEMBERED);
    durations.drain(..surplus);
    durations
}

/// How often the account's nonces are filled until a submission behind `ahead` others ends.
fn turns(ahead: usize, at_once: usize) -> u32 {
    u32::try_from(ahead / at_once.max(1)).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_latest_is_expected() {
        assert_eq!(expected(&[], USUAL, 0, 5), 45);
        assert_eq!(expected(&[0], USUAL, 4, 5), 1);
        assert_eq!(expected(&[3, 900, 7], USUAL, 0, 5), 7);
        let all = (0..100).fold(Vec::new(), |all, seconds| remembered(all, seconds, 0, 5));
        assert_eq!((all.len(), all.first(), all.last()), (32, Some(&68), Some(&99)));
    }

    #[test]
    fn the_queue_counts_and_does_not_count_twice() {
        assert_eq!(expected(&[7], USUAL, 50, 5), 77);
        assert_eq!(remembered(Vec::new(), 77, 50, 5), [7]);
        assert_eq!(expected(&[7], USUAL, usize::MAX, 0), u32::MAX);
    }
}
