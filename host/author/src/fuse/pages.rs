//! Pages that a module writes before each call, so that the pages that a call writes are few runs.
//!
//! A host clears what a call wrote run by run, and wasmtime 48 does so for 32 runs. What lies above the last of them it
//! gives back to the system, and the next call faults it in again, which costs more than the call itself and interrupts
//! the other cores. An interpreter writes a page here and there: counts of references. So the smallest gaps between the
//! written pages are closed, until so few runs are left that a call about another wallet may add some. A host that
//! clears nothing in place (before Linux 6.7, or with swap) pays a fault for each page more.

use std::{cmp::Reverse, collections::BTreeSet, ops::Range};

/// Bytes of a page.
pub(crate) const PAGE: u32 = 4096;
/// The most runs that are left of what the samples write. Three thousand other wallets make 22 of 12, and more than 32
/// of 20. Fewer runs mean more pages to clear.
const RUNS: usize = 12;

/// The ranges that cover `pages` in so many runs, with the least pages between them; none if there are no more runs.
pub(crate) fn together<'a>(pages: impl IntoIterator<Item = &'a u32>) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for page in pages {
        match runs.last_mut().filter(|run| run.end == *page) {
            Some(run) => run.end += 1,
            None => runs.push(*page..page + 1),
        }
    }
    if runs.len() <= RUNS {
        return Vec::new();
    }
    // Each gap with the place of the run after it, the widest first.
    let gaps = runs.iter().zip(runs.iter().skip(1)).map(|(one, next)| next.start - one.end);
    let mut gaps: Vec<(u32, usize)> = gaps.zip(1..).collect();
    gaps.sort_unstable_by_key(|(gap, place)| (Reverse(*gap), *place));
    let kept: BTreeSet<usize> = gaps.iter().take(RUNS - 1).map(|(_, place)| *place).collect();
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (place, run) in runs.into_iter().enumerate() {
        match ranges.last_mut().filter(|_| !kept.contains(&place)) {
            Some(range) => range.end = run.end,
            None => ranges.push(run),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_gaps_are_closed_until_few_runs_are_left() {
        // The gap after page 2 n^2 grows with n.
        let pages: BTreeSet<u32> = (0..60).map(|number| 2 * number * number).collect();
        let ranges = together(&pages);
        assert_eq!(ranges.len(), RUNS);
        let closed = 60 - RUNS as u32;
        assert_eq!(ranges[0], 0..2 * closed * closed + 1);
        assert!(pages.iter().all(|page| ranges.iter().any(|range| range.contains(page))));
        assert_eq!(ranges[1..].iter().map(Range::len).sum::<usize>(), RUNS - 1);
    }

    #[test]
    fn of_equal_gaps_only_as_many_are_closed_as_must_be() {
        let pages: BTreeSet<u32> = (0..=RUNS as u32).map(|number| number * 300).collect();
        let ranges = together(&pages);
        assert_eq!((ranges.len(), ranges.iter().map(Range::len).sum::<usize>()), (RUNS, RUNS - 1 + 301));
    }

    #[test]
    fn few_runs_stay_as_they_are() {
        assert!(together([]).is_empty());
        assert!(together(&BTreeSet::from_iter((0..RUNS as u32).map(|number| number * 100))).is_empty());
    }
}
