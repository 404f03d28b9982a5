//! Two models' scores of the same subjects: how often each pair was given.

use std::collections::BTreeMap;

use super::{Histogram, NoSuchScore, quantile};
use crate::{Decile, Score};

/// Counts of pairs of scores, the reference model's first. At most 701 × 701 cells; only pairs that occurred take
/// memory. In JSON: triples of both scores and their count.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(into = "Vec<(u16, u16, u64)>", try_from = "Vec<(u16, u16, u64)>")]
pub struct Joint {
    cells: BTreeMap<(Score, Score), u64>,
}

impl Joint {
    pub fn add(&mut self, first: Score, second: Score) {
        self.add_many(first, second, 1);
    }

    pub fn add_many(&mut self, first: Score, second: Score, count: u64) {
        if count > 0 {
            let cell = self.cells.entry((first, second)).or_default();
            *cell = cell.saturating_add(count);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (first, second, count) in other.cells() {
            self.add_many(first, second, count);
        }
    }

    pub fn count(&self) -> u64 {
        self.cells.values().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The pairs that occurred, in rising order of the first and then of the second score.
    pub fn cells(&self) -> impl Iterator<Item = (Score, Score, u64)> + Clone + '_ {
        self.cells.iter().map(|((first, second), count)| (*first, *second, *count))
    }

    /// The scores of the reference model only.
    pub fn first(&self) -> Histogram {
        let mut histogram = Histogram::default();
        self.cells().for_each(|(first, _, count)| histogram.add_many(first, count));
        histogram
    }

    /// The scores of the other model only.
    pub fn second(&self) -> Histogram {
        let mut histogram = Histogram::default();
        self.cells().for_each(|(_, second, count)| histogram.add_many(second, count));
        histogram
    }

    /// The number of subjects whose pair satisfies `is`.
    pub fn count_where(&self, is: impl Fn(Score, Score) -> bool) -> u64 {
        self.cells().filter(|(first, second, _)| is(*first, *second)).map(|(_, _, count)| count).sum()
    }

    /// The number of subjects in the same named range in both models.
    pub fn same_range(&self) -> u64 {
        self.count_where(|first, second| first.range() == second.range())
    }

    /// The number of subjects in the same decile in both models, each by its own table.
    pub fn same_decile(
        &self,
        first: impl Fn(Score) -> Option<Decile>,
        second: impl Fn(Score) -> Option<Decile>,
    ) -> u64 {
        self.count_where(|a, b| first(a).is_some() && first(a) == second(b))
    }

    /// The second score minus the first.
    pub fn differences(&self) -> Differences {
        let mut counts = BTreeMap::<i32, u64>::new();
        for (first, second, count) in self.cells() {
            *counts.entry(difference(first, second)).or_default() += count;
        }
        Differences { counts: counts.into_iter().collect() }
    }
}

/// The count of each difference between the second and the first score, in points.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Differences {
    /// In rising order of the difference.
    pub counts: Vec<(i32, u64)>,
}

impl Differences {
    pub fn mean(&self) -> Option<f64> {
        let count: u64 = self.counts.iter().map(|(_, count)| count).sum();
        let sum: f64 = self.counts.iter().map(|(points, count)| f64::from(*points) * *count as f64).sum();
        (count > 0).then(|| sum / count as f64)
    }

    pub fn quantile(&self, p: f64) -> Option<f64> {
        quantile(self.counts.iter().map(|(points, count)| (f64::from(*points), *count)), p)
    }

    /// The quantile of the absolute difference.
    pub fn absolute_quantile(&self, p: f64) -> Option<f64> {
        let mut counts = BTreeMap::<u32, u64>::new();
        for (points, count) in &self.counts {
            *counts.entry(points.unsigned_abs()).or_default() += count;
        }
        quantile(counts.iter().map(|(points, count)| (f64::from(*points), *count)), p)
    }

    /// The numbers of subjects whose second score is higher, equal, and lower.
    pub fn signs(&self) -> (u64, u64, u64) {
        let of =
            |is: fn(i32) -> bool| self.counts.iter().filter(|(points, _)| is(*points)).map(|(_, count)| count).sum();
        (of(|points| points > 0), of(|points| points == 0), of(|points| points < 0))
    }
}

fn difference(first: Score, second: Score) -> i32 {
    // Both are at most 1000.
    i32::try_from(second.get()).unwrap_or(0) - i32::try_from(first.get()).unwrap_or(0)
}

impl From<Joint> for Vec<(u16, u16, u64)> {
    fn from(joint: Joint) -> Self {
        let short = |score: Score| u16::try_from(score.get()).ok();
        joint.cells().filter_map(|(first, second, count)| Some((short(first)?, short(second)?, count))).collect()
    }
}

impl TryFrom<Vec<(u16, u16, u64)>> for Joint {
    type Error = NoSuchScore;

    fn try_from(triples: Vec<(u16, u16, u64)>) -> Result<Self, NoSuchScore> {
        let score = |value: u16| Score::new(u32::from(value)).ok_or(NoSuchScore(value));
        let mut joint = Self::default();
        for (first, second, count) in triples {
            joint.add_many(score(first)?, score(second)?, count);
        }
        Ok(joint)
    }
}
