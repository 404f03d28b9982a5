//! Bins of a scale, defined by the edges between them.

use super::Histogram;

/// The edges between bins, in rising order: `e` edges make `e + 1` bins. A bin includes its upper edge and excludes its
/// lower one, `(lower, upper]`; the outer bins are open.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Edges(Vec<f64>);

impl Edges {
    /// The edges between the named ranges of a score: low, fair, good, very_good, excellent.
    pub fn of_ranges() -> Self {
        Self(vec![639.0, 749.0, 839.0, 919.0])
    }

    /// Twenty bins of 35 points, independent of the sample; the first bin also includes 300.
    pub fn fixed() -> Self {
        Self((1..20_u32).map(|bin| f64::from(300 + 35 * bin)).collect())
    }

    /// Edges at the `bins`-quantiles of a reference sample. Equal edges are merged, so there are fewer bins if a tenth
    /// of the sample has the same score.
    pub fn quantiles(reference: &Histogram, bins: u32) -> Self {
        let mut edges: Vec<f64> =
            (1..bins).filter_map(|bin| reference.quantile(f64::from(bin) / f64::from(bins))).collect();
        edges.dedup();
        Self(edges)
    }

    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// The bin of `value`, counted from 0.
    pub fn bin(&self, value: f64) -> usize {
        self.0.partition_point(|edge| *edge < value)
    }

    /// The number of scores in each bin.
    pub fn counts(&self, scores: &Histogram) -> Vec<u64> {
        let mut counts = vec![0; self.0.len() + 1];
        for (score, count) in scores.given() {
            if let Some(bin) = counts.get_mut(self.bin(f64::from(score))) {
                *bin += count;
            }
        }
        counts
    }
}
