//! One model's scores with the subjects' outcomes: how well the score separates good from bad. A high score predicts a
//! good outcome.

use super::{Histogram, ks};

/// Scores of subjects with a good outcome, and of those with a bad one.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Outcomes {
    pub good: Histogram,
    pub bad: Histogram,
}

impl Outcomes {
    pub fn count(&self) -> u64 {
        self.good.count() + self.bad.count()
    }

    /// The share of bad outcomes; `None` if there are no subjects.
    pub fn bad_rate(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.bad.count() as f64 / count as f64)
    }

    /// The scores of all subjects.
    pub fn scores(&self) -> Histogram {
        let mut all = self.good.clone();
        all.merge(&self.bad);
        all
    }

    /// The area under the ROC curve, 0 to 1: the probability that a subject with a good outcome has a higher score than
    /// one with a bad outcome; equal scores count half. It is the statistic of Mann and Whitney, Ann. Math. Statist. 18
    /// (1947), divided by the number of pairs (Hanley and McNeil, "The Meaning and Use of the Area under a ROC Curve",
    /// Radiology 143, 1982).
    ///
    /// `None` if one of the outcomes is missing.
    pub fn auc(&self) -> Option<f64> {
        let pairs = u128::from(self.good.count()) * u128::from(self.bad.count());
        let (mut bad_below, mut twice) = (0_u64, 0_u128);
        for ((_, good), (_, bad)) in self.good.all().zip(self.bad.all()) {
            twice += u128::from(good) * (2 * u128::from(bad_below) + u128::from(bad));
            bad_below += bad;
        }
        (pairs > 0).then(|| twice as f64 / (2 * pairs) as f64)
    }

    /// The Gini coefficient or accuracy ratio, -1 to 1: `2 AUC - 1` (Engelmann, Hayden and Tasche, "Testing Rating
    /// Accuracy", Risk 16, 2003).
    pub fn gini(&self) -> Option<f64> {
        self.auc().map(|auc| 2.0 * auc - 1.0)
    }

    /// The Kolmogorov-Smirnov statistic between the scores of the two outcomes, 0 to 1; see [`ks`](super::ks()).
    pub fn ks(&self) -> Option<f64> {
        ks(&self.good, &self.bad)
    }

    /// The Brier score, 0 to 1, lower is better: the mean squared difference between the probability of a bad outcome
    /// and the outcome (Brier, "Verification of Forecasts Expressed in Terms of Probability", Mon. Weather Rev. 78,
    /// 1950).
    ///
    /// A score is not a probability, so the probability is that of [`logistic`](Self::logistic), fitted to these same
    /// outcomes. The Brier score therefore measures the order and spacing of the scores after calibration, not the
    /// accuracy of a stated probability. `None` if there is no fit.
    pub fn brier(&self) -> Option<f64> {
        let fit = self.logistic()?;
        let squares = |scores: &Histogram, outcome: f64| -> f64 {
            scores
                .given()
                .map(|(score, count)| (fit.probability(f64::from(score)) - outcome).powi(2) * count as f64)
                .sum()
        };
        Some((squares(&self.good, 0.0) + squares(&self.bad, 1.0)) / self.count() as f64)
    }

    /// The Brier score of a model that gives every subject the sample's bad rate: a useful model has a lower one.
    pub fn brier_of_base_rate(&self) -> Option<f64> {
        self.bad_rate().map(|rate| rate * (1.0 - rate))
    }
}
