//! The bootstrap over clusters: it draws all rows of a wallet together, so that a wallet with sixty rows does not
//! narrow an interval (Field and Welsh, "Bootstrapping clustered data", J. R. Statist. Soc. B 69, 2007).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::graded::GradedRow;
use assay_domain::stats::{Interval, middle, split_mix};

/// The most draws in all; they take some seconds.
const MOST_DRAWS: usize = 20_000_000;
const SEED: u64 = 1;

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Estimate {
    pub value: Option<f64>,
    pub interval: Option<Interval>,
}

/// Which rows belong together.
pub(crate) struct Clusters {
    /// The rows of each cluster, by index.
    members: Vec<Vec<usize>>,
    rows: usize,
}

impl Clusters {
    pub(crate) fn of(rows: &[&GradedRow]) -> Self {
        let mut found: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, row) in rows.iter().enumerate() {
            found.entry(row.cluster).or_default().push(index);
        }
        // In the order of the file, so that the draws do not depend on the hashes.
        let mut members: Vec<_> = found.into_values().collect();
        members.sort_by_key(|rows| rows.first().copied());
        Self { members, rows: rows.len() }
    }

    pub(crate) fn count(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn largest(&self) -> usize {
        self.members.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The number of resamples: 400, fewer for a large sample, and never fewer than 100.
    pub(crate) fn resamples(&self) -> usize {
        (MOST_DRAWS / self.rows.max(1)).clamp(100, 400)
    }

    /// The results of `figures` with their intervals. `figures` gets the weight of each row: how often it was drawn.
    /// With fewer than two clusters there are no intervals.
    pub(crate) fn estimates(&self, figures: impl Fn(&[u64]) -> Vec<Option<f64>>) -> Vec<Estimate> {
        let values = figures(&vec![1; self.rows]);
        let mut drawn: Vec<Vec<f64>> = vec![Vec::new(); values.len()];
        let (mut weights, mut draw) = (vec![0_u64; self.rows], 0_u64);
        let resamples = if self.members.len() < 2 { 0 } else { self.resamples() };
        for _ in 0..resamples {
            weights.fill(0);
            for _ in 0..self.members.len() {
                let picked = u128::from(split_mix(SEED, draw)) * self.members.len() as u128;
                draw = draw.wrapping_add(1);
                for row in self.members.get((picked >> 64) as usize).into_iter().flatten() {
                    if let Some(weight) = weights.get_mut(*row) {
                        *weight += 1;
                    }
                }
            }
            for (of_figure, figure) in drawn.iter_mut().zip(figures(&weights)) {
                of_figure.extend(figure);
            }
        }
        let estimate = |(value, drawn): (Option<f64>, Vec<f64>)| Estimate {
            value,
            interval: value.and_then(|value| middle(drawn, Some(value))),
        };
        values.into_iter().zip(drawn).map(estimate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graded::Clustered;
    use assay_domain::features::FIGURES;

    fn row(line: u64, cluster: u64, bad: bool) -> GradedRow {
        let figures = [None; FIGURES.len()];
        let (scores, points, segments) = (vec![], vec![], vec![]);
        GradedRow {
            line,
            as_of: 0,
            bad,
            cluster,
            clustered: Clustered::Column,
            scores,
            points,
            external: None,
            figures,
            standing: assay_domain::Standing::default(),
            lost_usd: None,
            segments,
        }
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
            let interval = Clusters::of(&rows).estimates(share)[0].interval.unwrap();
            interval.high - interval.low
        };
        let once = width(1, true);
        assert!((width(60, true) - once).abs() < 1e-12, "sixty copies of each wallet say no more than one");
        assert!(width(60, false) < once / 5.0, "sixty wallets say more");
    }
}
