//! The distance between two distributions of scores.

use super::Histogram;

/// The two-sample Kolmogorov-Smirnov statistic: the largest difference of the two empirical distribution functions, 0
/// to 1 (Smirnov, "Table for Estimating the Goodness of Fit of Empirical Distributions", Ann. Math. Statist. 19, 1948).
///
/// `None` if a sample is empty.
pub fn ks(first: &Histogram, second: &Histogram) -> Option<f64> {
    Some(gaps(first, second)?.fold(0.0, f64::max))
}

/// The first Wasserstein distance in points: how far scores must be moved, on average, to turn one distribution into
/// the other. In one dimension it is the area between the two distribution functions (Vallender, Theory Probab. Appl.
/// 18, 1974).
///
/// `None` if a sample is empty.
pub fn wasserstein(first: &Histogram, second: &Histogram) -> Option<f64> {
    Some(gaps(first, second)?.sum())
}

/// The absolute difference of the distribution functions at each score.
fn gaps<'a>(first: &'a Histogram, second: &'a Histogram) -> Option<impl Iterator<Item = f64> + 'a> {
    let (all_first, all_second) = (first.count(), second.count());
    if all_first == 0 || all_second == 0 {
        return None;
    }
    let sums = first.all().zip(second.all()).scan((0_u64, 0_u64), |sums, ((_, a), (_, b))| {
        *sums = (sums.0 + a, sums.1 + b);
        Some(*sums)
    });
    Some(sums.map(move |(a, b)| (a as f64 / all_first as f64 - b as f64 / all_second as f64).abs()))
}
