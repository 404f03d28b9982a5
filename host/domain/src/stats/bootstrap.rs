//! The bootstrap: how much a figure varies between samples.

use super::{Interval, Labelled, Outcomes, quantile};
use crate::Score;

/// How to resample. The same plan gives the same intervals on every machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Plan {
    pub resamples: u32,
    pub seed: u64,
}

impl Plan {
    /// Maximum number of draws in all, which take some seconds.
    const MOST_DRAWS: u64 = 200_000_000;

    /// 1,000 resamples of a sample of `count`; fewer if `count` is above 200,000, and never fewer than 100.
    pub fn of(count: u64) -> Self {
        let resamples = (Self::MOST_DRAWS / count.max(1)).clamp(100, 1000);
        Self { resamples: u32::try_from(resamples).unwrap_or(1000), seed: 1 }
    }
}

/// A figure of each model, and the second minus the first, over all resamples.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Resampled {
    pub first: Option<Interval>,
    pub second: Option<Interval>,
    pub difference: Option<Interval>,
    /// Resamples in which both figures exist; the intervals come from these.
    pub used: u32,
}

impl Resampled {
    /// From the figures of all resamples, and from the figures `a` and `b` of the sample itself.
    fn of([first, second, difference]: [Vec<f64>; 3], (a, b): (Option<f64>, Option<f64>)) -> Self {
        Self {
            used: u32::try_from(first.len()).unwrap_or(u32::MAX),
            first: middle(first, a),
            second: middle(second, b),
            difference: middle(difference, a.zip(b).map(|(a, b)| b - a)),
        }
    }
}

impl Labelled {
    /// The 95 % percentile intervals of each of `figures` (Efron and Tibshirani, "An Introduction to the Bootstrap",
    /// Chapman and Hall, 1993, chapter 13). Each resample draws as many subjects as there are, with replacement,
    /// keeping pairs of scores and outcome together, so the difference between the models also has an interval. Draw
    /// `d` of resample `r` is number `r * count + d` of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) scaled to the
    /// subjects in the order good before bad, then first score, then second.
    pub fn resample<const N: usize>(&self, plan: Plan, figures: [fn(&Outcomes) -> Option<f64>; N]) -> [Resampled; N] {
        let (cells, ends) = self.cells_with_ends();
        let count = self.count();
        let mut found: [[Vec<f64>; 3]; N] = std::array::from_fn(|_| Default::default());
        let (mut first, mut second, mut draw) = (Outcomes::default(), Outcomes::default(), 0_u64);
        for _ in 0..plan.resamples {
            for scores in [&mut first.good, &mut first.bad, &mut second.good, &mut second.bad] {
                scores.clear();
            }
            for _ in 0..count {
                let number = split_mix(plan.seed, draw);
                draw = draw.wrapping_add(1);
                let subject = u64::try_from((u128::from(number) * u128::from(count)) >> 64).unwrap_or(0);
                let Some((a, b, bad)) = cells.get(ends.partition_point(|end| *end <= subject)) else { continue };
                let (of_first, of_second) =
                    if *bad { (&mut first.bad, &mut second.bad) } else { (&mut first.good, &mut second.good) };
                of_first.add(*a);
                of_second.add(*b);
            }
            for (figure, [firsts, seconds, differences]) in figures.iter().zip(&mut found) {
                if let (Some(a), Some(b)) = (figure(&first), figure(&second)) {
                    firsts.push(a);
                    seconds.push(b);
                    differences.push(b - a);
                }
            }
        }
        let (of_first, of_second) = (self.first(), self.second());
        let mut own = figures.into_iter().map(|figure| (figure(&of_first), figure(&of_second)));
        found.map(|drawn| Resampled::of(drawn, own.next().unwrap_or_default()))
    }

    /// The cells of both outcomes, good before bad, and the number of subjects up to the end of each.
    fn cells_with_ends(&self) -> (Vec<(Score, Score, bool)>, Vec<u64>) {
        let cells = [(&self.good, false), (&self.bad, true)]
            .into_iter()
            .flat_map(|(joint, bad)| joint.cells().map(move |(a, b, _)| (a, b, bad)))
            .collect();
        let counts = self.good.cells().chain(self.bad.cells()).map(|(_, _, count)| count);
        let ends = counts
            .scan(0, |end, count| {
                *end += count;
                Some(*end)
            })
            .collect();
        (cells, ends)
    }
}

/// The interval that contains the middle 95 % of `values`, the figures of resamples. `estimate` is the figure of the
/// sample itself. KS is larger in resamples than in the sample: if the interval does not contain `estimate`, it is
/// moved by the bias, which is the median minus `estimate`.
pub fn middle(mut values: Vec<f64>, estimate: Option<f64>) -> Option<Interval> {
    values.sort_by(f64::total_cmp);
    let at = |p| quantile(values.iter().map(|value| (*value, 1)), p);
    let found = Interval { low: at(0.025)?, high: at(0.975)? };
    match estimate {
        Some(estimate) if !found.contains(estimate) => {
            let bias = at(0.5)? - estimate;
            Some(Interval { low: (found.low - bias).min(estimate), high: (found.high - bias).max(estimate) })
        }
        _ => Some(found),
    }
}

/// Number `index` of the SplitMix64 generator that starts at `seed`.
pub fn split_mix(seed: u64, index: u64) -> u64 {
    let state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_inside_its_interval() {
        assert_eq!(middle(vec![2.0; 9], Some(1.0)), Some(Interval { low: 1.0, high: 1.0 }));
        let found = middle((0..100).map(f64::from).collect(), Some(-5.0)).unwrap();
        assert!(found.contains(-5.0) && found.high - found.low > 90.0, "{found:?}");
    }
}
