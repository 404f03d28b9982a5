//! The bootstrap over clusters: all rows of a wallet are drawn together, so that a wallet that repeats sixty times does
//! not narrow an interval (Field and Welsh, "Bootstrapping clustered data", J. R. Statist. Soc. B 69, 2007).

use std::collections::BTreeMap;

use crate::graded::Row;
use assay_domain::stats::{Interval, middle};

/// Draws in all; they take some seconds.
const MOST_DRAWS: usize = 20_000_000;
const SEED: u64 = 1;

/// How rows belong together.
pub struct Clusters {
    /// The rows of each cluster, by index.
    members: Vec<Vec<usize>>,
    rows: usize,
}

impl Clusters {
    pub fn of(rows: &[&Row]) -> Self {
        let mut found: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            found.entry(row.cluster).or_default().push(index);
        }
        // In the order of the file, so that the draws do not depend on the hashes.
        let mut members: Vec<_> = found.into_values().collect();
        members.sort_by_key(|rows| rows.first().copied());
        Self { members, rows: rows.len() }
    }

    pub fn count(&self) -> usize {
        self.members.len()
    }

    pub fn largest(&self) -> usize {
        self.members.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// How often this many rows are drawn again: 400 times, and fewer for a large sample.
    pub fn resamples(&self) -> usize {
        (MOST_DRAWS / self.rows.max(1)).clamp(100, 400)
    }

    /// The 95 % intervals of `figures`, which gets the weight of each row. With fewer than two clusters there is none.
    pub fn intervals(&self, figures: impl Fn(&[u64]) -> Vec<Option<f64>>) -> Vec<Option<Interval>> {
        let estimates = figures(&vec![1; self.rows]);
        if self.members.len() < 2 {
            return vec![None; estimates.len()];
        }
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); estimates.len()];
        let (mut weights, mut draw) = (vec![0_u64; self.rows], 0_u64);
        for _ in 0..self.resamples() {
            weights.fill(0);
            for _ in 0..self.members.len() {
                let picked = u128::from(split_mix(draw)) * self.members.len() as u128;
                draw = draw.wrapping_add(1);
                for row in self.members.get((picked >> 64) as usize).into_iter().flatten() {
                    if let Some(weight) = weights.get_mut(*row) {
                        *weight += 1;
                    }
                }
            }
            for (values, figure) in drawn.iter_mut().zip(figures(&weights)) {
                values.extend(figure);
            }
        }
        drawn.into_iter().zip(estimates).map(|(values, estimate)| middle(values, Some(estimate?))).collect()
    }
}

/// Number `index` of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn split_mix(index: u64) -> u64 {
    let state = SEED.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::NAMES;

    fn row(line: u64, cluster: u64, bad: bool) -> Row {
        let figures = [None; NAMES.len()];
        let (scores, points, segments) = (vec![], vec![], vec![]);
        Row { line, as_of: 0, bad, cluster, scores, points, external: None, figures, segments }
    }

    #[test]
    fn a_wallet_that_repeats_does_not_narrow_an_interval() {
        let width = |copies: u64, together: bool| {
            let rows: Vec<_> =
                (0..40 * copies).map(|n| row(n, if together { n % 40 } else { n }, n % 40 < 10)).collect();
            let rows: Vec<_> = rows.iter().collect();
            let share = |weights: &[u64]| {
                let bad: u64 = rows.iter().zip(weights).filter(|(row, _)| row.bad).map(|(_, weight)| weight).sum();
                vec![Some(bad as f64 / weights.iter().sum::<u64>() as f64)]
            };
            let interval = Clusters::of(&rows).intervals(share)[0].unwrap();
            interval.high - interval.low
        };
        let once = width(1, true);
        assert!((width(60, true) - once).abs() < 1e-12, "sixty copies of each wallet say no more than one");
        assert!(width(60, false) < once / 5.0, "sixty wallets say more");
    }

    #[test]
    fn a_figure_is_inside_its_interval() {
        assert_eq!(middle(vec![2.0; 9], Some(1.0)), Some(Interval { low: 1.0, high: 1.0 }));
        let found = middle((0..100).map(f64::from).collect(), Some(-5.0)).unwrap();
        assert!(found.contains(-5.0) && found.high - found.low > 90.0, "{found:?}");
    }
}
