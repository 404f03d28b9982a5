//! Converts a score to a probability of a bad outcome.

use super::Outcomes;

/// The odds of a bad outcome change by a constant factor per point: `ln(p / (1 - p)) = intercept + slope * score`.
/// Scorecards are scaled in this way, by "points to double the odds" (Siddiqi, "Credit Risk Scorecards", Wiley, 2006,
/// chapter 6).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Logistic {
    pub intercept: f64,
    /// Per point; negative if a higher score means fewer bad outcomes.
    pub slope: f64,
}

/// Scores are scaled to `(score - MIDDLE) / HALF`, -1 to 1, to keep the equations well conditioned.
const MIDDLE: f64 = 650.0;
const HALF: f64 = 350.0;
/// Newton's method doubles the digits with each step; if more steps are needed, there is no fit.
const STEPS: u32 = 60;
/// Above this slope over half the scale, the score separates the outcomes completely, and there is no finite fit.
const STEEPEST: f64 = 200.0;

impl Logistic {
    /// The probability of a bad outcome at `score`.
    pub fn probability(&self, score: f64) -> f64 {
        1.0 / (1.0 + (-(self.intercept + self.slope * score)).exp())
    }

    /// Points that halve the odds of a bad outcome, if a higher score is better.
    pub fn points_to_halve_odds(&self) -> Option<f64> {
        (self.slope < 0.0).then(|| std::f64::consts::LN_2 / -self.slope)
    }
}

impl Outcomes {
    /// The maximum-likelihood fit of a logistic curve to the outcomes: logistic regression on the score only (Cox, "The
    /// Regression Analysis of Binary Sequences", J. R. Stat. Soc. B 20, 1958), as in Platt's scaling (1999) without his
    /// prior. Uses Newton's method, and halves a step that does not improve the likelihood.
    ///
    /// `None` if one of the outcomes is missing, all scores are equal, or the scores separate the outcomes completely.
    pub fn logistic(&self) -> Option<Logistic> {
        let bins: Vec<(f64, f64, f64)> = self
            .good
            .all()
            .zip(self.bad.all())
            .filter(|((_, good), (_, bad))| good + bad > 0)
            .map(|((score, good), (_, bad))| ((f64::from(score) - MIDDLE) / HALF, good as f64, bad as f64))
            .collect();
        let (good, bad) = (self.good.count() as f64, self.bad.count() as f64);
        if bins.len() < 2 || good == 0.0 || bad == 0.0 {
            return None;
        }
        let (mut at, mut best) = (((bad / good).ln(), 0.0), f64::NEG_INFINITY);
        best = best.max(likelihood(&bins, at));
        for _ in 0..STEPS {
            let mut step = newton_step(&bins, at)?;
            if step.0.abs().max(step.1.abs()) < 1e-13 * (1.0 + at.0.abs() + at.1.abs()) {
                break;
            }
            // Far from the maximum a full step may overshoot. Near it, rounding hides the gain, so the step is
            // accepted.
            let mut next = (at.0 + step.0, at.1 + step.1);
            while likelihood(&bins, next) < best - 1e-9 * best.abs() {
                step = (step.0 / 2.0, step.1 / 2.0);
                next = (at.0 + step.0, at.1 + step.1);
                if step.0.abs() + step.1.abs() < 1e-15 {
                    return None;
                }
            }
            at = next;
            best = best.max(likelihood(&bins, at));
            if at.1.is_nan() || at.1.abs() > STEEPEST {
                return None;
            }
        }
        Some(Logistic { intercept: at.0 - at.1 * MIDDLE / HALF, slope: at.1 / HALF })
    }
}

/// The step of Newton's method from `at`; `None` if the bins do not determine it.
fn newton_step(bins: &[(f64, f64, f64)], at: (f64, f64)) -> Option<(f64, f64)> {
    let (mut g0, mut g1, mut h00, mut h01, mut h11) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, good, bad) in bins {
        let p = 1.0 / (1.0 + (-(at.0 + at.1 * x)).exp());
        let (gradient, weight) = (bad - (good + bad) * p, (good + bad) * p * (1.0 - p));
        g0 += gradient;
        g1 += gradient * x;
        h00 += weight;
        h01 += weight * x;
        h11 += weight * x * x;
    }
    let determinant = h00 * h11 - h01 * h01;
    if determinant.is_nan() || determinant <= 1e-14 * h00 * h11 {
        return None;
    }
    Some(((h11 * g0 - h01 * g1) / determinant, (h00 * g1 - h01 * g0) / determinant))
}

fn likelihood(bins: &[(f64, f64, f64)], (intercept, slope): (f64, f64)) -> f64 {
    // ln(1 + e^t) without overflow.
    let softplus = |t: f64| t.max(0.0) + (-t.abs()).exp().ln_1p();
    bins.iter()
        .map(|(x, good, bad)| -good * softplus(intercept + slope * x) - bad * softplus(-(intercept + slope * x)))
        .sum()
}
