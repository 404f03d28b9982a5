//! Rank correlations: whether two models put subjects in the same order, independent of the points.

use super::{Histogram, Joint};

impl Joint {
    /// Spearman's rank correlation, -1 to 1: Pearson's correlation of the ranks, where equal scores have the mean of
    /// their ranks (Spearman, "The Proof and Measurement of Association between Two Things", Am. J. Psychol. 15, 1904;
    /// with ties, Kendall and Gibbons, "Rank Correlation Methods", 5th ed., 1990, chapter 3).
    ///
    /// `None` if a model gives all subjects the same score.
    pub fn spearman(&self) -> Option<f64> {
        let (first, second) = (mid_ranks(&self.first()), mid_ranks(&self.second()));
        let mean = (self.count() as f64 + 1.0) / 2.0;
        let (mut products, mut squares, mut other_squares) = (0.0, 0.0, 0.0);
        for (a, b, count) in self.cells() {
            let (Some(a), Some(b)) = (first.get(index(a)), second.get(index(b))) else { continue };
            let (a, b, count) = (a - mean, b - mean, count as f64);
            products += a * b * count;
            squares += a * a * count;
            other_squares += b * b * count;
        }
        let scale = squares.sqrt() * other_squares.sqrt();
        (scale > 0.0).then(|| (products / scale).clamp(-1.0, 1.0))
    }

    /// Kendall's tau-b, -1 to 1: pairs of subjects in the same order minus those in opposite orders, divided by the
    /// geometric mean of the pairs with different scores in each model (Kendall, "The Treatment of Ties in Ranking
    /// Problems", Biometrika 33, 1945). Counted in one pass over the cells with a tree of partial sums, after Knight,
    /// J. Am. Stat. Assoc. 61 (1966).
    ///
    /// `None` if a model gives all subjects the same score.
    pub fn kendall(&self) -> Option<f64> {
        let pairs = |count: u64| i128::from(count) * (i128::from(count) - 1) / 2;
        let all = pairs(self.count());
        let tied = |scores: &Histogram| scores.given().map(|(_, count)| pairs(count)).sum::<i128>();
        let (tied_first, tied_second) = (tied(&self.first()), tied(&self.second()));
        let mut before = Sums::default();
        let (mut balance, mut row, mut of) = (0_i128, Vec::new(), None);
        for (a, b, count) in self.cells() {
            if of != Some(a) {
                row.drain(..).for_each(|(b, count)| before.add(b, count));
                of = Some(a);
            }
            let (below, through) = (before.below(index(b)), before.below(index(b) + 1));
            balance += i128::from(count) * (i128::from(below) - i128::from(before.all - through));
            row.push((index(b), count));
        }
        let scale = ((all - tied_first) as f64).sqrt() * ((all - tied_second) as f64).sqrt();
        (scale > 0.0).then(|| (balance as f64 / scale).clamp(-1.0, 1.0))
    }
}

fn index(score: crate::Score) -> usize {
    (score.get() - crate::Score::MIN.get()) as usize
}

/// The rank of each score from 300 to 1000, counted from 1.
fn mid_ranks(scores: &Histogram) -> Vec<f64> {
    let mut before = 0_u64;
    let rank = |(_, count): (u32, u64)| {
        let rank = before as f64 + (count as f64 + 1.0) / 2.0;
        before += count;
        rank
    };
    scores.all().map(rank).collect()
}

/// Counts by score with their partial sums (Fenwick, Softw. Pract. Exp. 24, 1994).
struct Sums {
    tree: Vec<u64>,
    all: u64,
}

impl Default for Sums {
    fn default() -> Self {
        Self { tree: vec![0; 702], all: 0 }
    }
}

impl Sums {
    fn add(&mut self, at: usize, count: u64) {
        self.all += count;
        let mut node = at + 1;
        while let Some(sum) = self.tree.get_mut(node) {
            *sum += count;
            node += node & node.wrapping_neg();
        }
    }

    /// The sum of the counts before `at`.
    fn below(&self, at: usize) -> u64 {
        let (mut node, mut sum) = (at, 0);
        while node > 0 {
            sum += self.tree.get(node).copied().unwrap_or(0);
            node &= node - 1;
        }
        sum
    }
}
