//! The expected duration of a submission: the median of the latest ones.

/// The estimate of the contract, before any submission is confirmed.
const USUAL: u32 = 45;
/// Durations that are stored.
const REMEMBERED: usize = 32;

/// The median of `durations` in seconds, at least 1.
pub fn expected(durations: &[u32]) -> u32 {
    let mut sorted = durations.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).map_or(USUAL, |median| (*median).max(1))
}

/// `durations` with `seconds` added, and without the oldest beyond the limit.
pub fn remembered(mut durations: Vec<u32>, seconds: u32) -> Vec<u32> {
    durations.push(seconds);
    let surplus = durations.len().saturating_sub(REMEMBERED);
    durations.drain(..surplus);
    durations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_latest_is_expected() {
        assert_eq!(expected(&[]), 45);
        assert_eq!(expected(&[0]), 1);
        assert_eq!(expected(&[3, 900, 7]), 7);
        let all = (0..100).fold(Vec::new(), remembered);
        assert_eq!((all.len(), all.first(), all.last()), (32, Some(&68), Some(&99)));
    }
}
