//! Calibration on records that the fit does not see: the clusters are split into five folds, and a logistic curve that
//! is fitted to four of them predicts the fifth.

use serde::Serialize;

use super::{ScoredRows, bands::interval};
use assay_domain::stats::{Interval, Logistic};

const FOLDS: u64 = 5;
const BINS: usize = 10;

/// The predicted rate, whether the outcome is bad, and the cluster.
type Prediction = (f64, bool, u64);

/// Predicted and observed rates over all folds.
#[derive(Debug, Clone, Serialize)]
pub struct HeldOut {
    pub folds: u64,
    pub brier: f64,
    /// The Brier score of the bad rate of the sample, given to every record.
    pub brier_of_base_rate: f64,
    pub bins: Vec<CalibrationBin>,
}

/// Records with similar predictions, from the lowest on.
#[derive(Debug, Clone, Serialize)]
pub struct CalibrationBin {
    pub count: u64,
    pub bad: u64,
    pub expected: f64,
    pub observed: f64,
    pub interval: Interval,
}

/// `None` if the fit for a fold fails, because there are too few outcomes of one kind.
pub(crate) fn held_out(scored: &ScoredRows<'_>) -> Option<HeldOut> {
    let fits: Vec<Logistic> = (0..FOLDS).map(|fold| without(scored, fold)).collect::<Option<_>>()?;
    let mut predicted: Vec<Prediction> = scored
        .rows
        .iter()
        .filter_map(|row| {
            let score = row.score(scored.index)?;
            let fit = fits.get(usize::try_from(row.cluster % FOLDS).ok()?)?;
            Some((fit.probability(f64::from(score.get())), row.bad, row.cluster))
        })
        .collect();
    predicted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let square = |(expected, bad, _): &Prediction| (expected - f64::from(u8::from(*bad))).powi(2);
    let count = predicted.len().max(1) as f64;
    let rate = predicted.iter().filter(|(_, bad, _)| *bad).count() as f64 / count;
    Some(HeldOut {
        folds: FOLDS,
        brier: predicted.iter().map(square).sum::<f64>() / count,
        brier_of_base_rate: rate * (1.0 - rate),
        bins: bins(&predicted),
    })
}

/// The curve that is fitted to all rows outside `fold`.
fn without(scored: &ScoredRows<'_>, fold: u64) -> Option<Logistic> {
    let weights: Vec<_> = scored.rows.iter().map(|row| u64::from(row.cluster % FOLDS != fold)).collect();
    scored.outcomes(&weights).logistic()
}

fn bins(predicted: &[Prediction]) -> Vec<CalibrationBin> {
    let bin = |rows: &[Prediction]| {
        let (count, bad) = (rows.len() as u64, rows.iter().filter(|(_, bad, _)| *bad).count() as u64);
        Some(CalibrationBin {
            count,
            bad,
            expected: rows.iter().map(|(expected, ..)| expected).sum::<f64>() / rows.len() as f64,
            observed: bad as f64 / count as f64,
            interval: interval(rows.iter().map(|(_, bad, cluster)| (*cluster, *bad)))?,
        })
    };
    predicted.chunks(predicted.len().div_ceil(BINS).max(1)).filter_map(bin).collect()
}
