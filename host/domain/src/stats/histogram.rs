//! Counts of each score: 701 counts, so every statistic of the scores is exact.

use super::{NoSuchScore, quantile};
use crate::Score;

/// Scores from 300 to 1000.
const SCORES: usize = 701;

/// Counts of scores. In JSON: pairs of a score and its count, without counts of 0.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(into = "Vec<(u16, u64)>", try_from = "Vec<(u16, u64)>")]
pub struct Histogram {
    counts: Box<[u64; SCORES]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: Box::new([0; SCORES]) }
    }
}

impl Histogram {
    pub fn add(&mut self, score: Score) {
        self.add_many(score, 1);
    }

    pub fn add_many(&mut self, score: Score, count: u64) {
        if let Some(cell) = self.counts.get_mut((score.get() - Score::MIN.get()) as usize) {
            *cell = cell.saturating_add(count);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        for (cell, more) in self.counts.iter_mut().zip(other.counts.iter()) {
            *cell = cell.saturating_add(*more);
        }
    }

    /// Resets all counts and reuses the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    pub fn is_empty(&self) -> bool {
        self.counts.iter().all(|count| *count == 0)
    }

    /// Every score from 300 to 1000 with its count, 0 included.
    pub fn all(&self) -> impl Iterator<Item = (u32, u64)> + Clone + '_ {
        (Score::MIN.get()..).zip(self.counts.iter().copied())
    }

    /// The scores with a count above 0, in rising order.
    pub fn given(&self) -> impl Iterator<Item = (u32, u64)> + Clone + '_ {
        self.all().filter(|(_, count)| *count > 0)
    }

    /// `None` if there are no scores.
    pub fn mean(&self) -> Option<f64> {
        let sum: f64 = self.given().map(|(score, count)| f64::from(score) * count as f64).sum();
        let count = self.count();
        (count > 0).then(|| sum / count as f64)
    }

    /// The unbiased variance, divided by n - 1; `None` if there are fewer than two scores.
    pub fn variance(&self) -> Option<f64> {
        let (mean, count) = (self.mean()?, self.count());
        let squares: f64 = self.given().map(|(score, count)| (f64::from(score) - mean).powi(2) * count as f64).sum();
        (count > 1).then(|| squares / (count - 1) as f64)
    }

    /// The sample quantile at `p` from 0 to 1, see [`quantile`](super::quantile()).
    pub fn quantile(&self, p: f64) -> Option<f64> {
        quantile(self.given().map(|(score, count)| (f64::from(score), count)), p)
    }
}

impl From<Histogram> for Vec<(u16, u64)> {
    fn from(histogram: Histogram) -> Self {
        histogram.given().filter_map(|(score, count)| Some((u16::try_from(score).ok()?, count))).collect()
    }
}

impl TryFrom<Vec<(u16, u64)>> for Histogram {
    type Error = NoSuchScore;

    fn try_from(pairs: Vec<(u16, u64)>) -> Result<Self, NoSuchScore> {
        let mut histogram = Self::default();
        for (score, count) in pairs {
            histogram.add_many(Score::new(u32::from(score)).ok_or(NoSuchScore(score))?, count);
        }
        Ok(histogram)
    }
}
