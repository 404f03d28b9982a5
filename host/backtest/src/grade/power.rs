//! Each factor and each figure alone: its AUC, its information value, and how often it is missing.

use serde::Serialize;

use super::ScoredRows;
use assay_domain::features::{FIGURES, Figure};

/// The most bins of an information value.
const BINS: usize = 10;

/// One factor or figure.
#[derive(Debug, Clone, Serialize)]
pub struct Power {
    pub name: String,
    /// Above 0.5 if higher values go with good outcomes.
    pub auc: Option<f64>,
    /// Siddiqi 2006, chapter 6: below 0.02 it tells nothing, from 0.1 on something, from 0.3 on much.
    pub information_value: Option<f64>,
    pub missing: u64,
    pub mean: Option<f64>,
    /// The lowest and the highest value.
    pub from: Option<f64>,
    pub to: Option<f64>,
}

/// The power of the points of each factor.
pub(crate) fn factors(scored: &ScoredRows<'_>, labels: &[String]) -> Vec<Power> {
    let of = |(at, label): (usize, &String)| {
        let points = |row: &&crate::graded::GradedRow| {
            row.points.get(scored.index).and_then(|points| points.get(at)).map(|points| f64::from(*points))
        };
        power(label, scored.rows.iter().map(|row| (points(row), row.bad)))
    };
    labels.iter().enumerate().map(of).collect()
}

/// The power of each figure of the features, without figures that no record has.
pub(crate) fn figures(scored: &ScoredRows<'_>) -> Vec<Power> {
    let of = |(at, figure): (usize, &Figure)| {
        power(figure.name, scored.rows.iter().map(|row| (row.figures.get(at).copied().flatten(), row.bad)))
    };
    FIGURES.iter().enumerate().map(of).filter(|power| power.mean.is_some()).collect()
}

fn power(name: &str, values: impl Iterator<Item = (Option<f64>, bool)>) -> Power {
    let (mut known, mut missing) = (Vec::new(), 0);
    for (value, bad) in values {
        match value {
            Some(value) => known.push((value, bad)),
            None => missing += 1,
        }
    }
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = (!known.is_empty()).then(|| known.iter().map(|(value, _)| value).sum::<f64>() / known.len() as f64);
    Power {
        name: name.to_owned(),
        auc: auc(&known),
        information_value: information_value(&known),
        missing,
        mean,
        from: known.first().map(|(value, _)| *value),
        to: known.last().map(|(value, _)| *value),
    }
}

/// The numbers of good and of bad outcomes in each run of equal values.
fn runs(sorted: &[(f64, bool)]) -> impl Iterator<Item = (u64, u64)> + '_ {
    sorted.chunk_by(|a, b| a.0 == b.0).map(|run| {
        let bad = run.iter().filter(|(_, bad)| *bad).count() as u64;
        (run.len() as u64 - bad, bad)
    })
}

/// The probability that a good outcome has a higher value than a bad one; equal values count half.
fn auc(sorted: &[(f64, bool)]) -> Option<f64> {
    let (mut good_below, mut bad_below, mut twice) = (0_u64, 0_u64, 0_u128);
    for (good, bad) in runs(sorted) {
        twice += u128::from(good) * u128::from(2 * bad_below + bad);
        (good_below, bad_below) = (good_below + good, bad_below + bad);
    }
    let pairs = u128::from(good_below) * u128::from(bad_below);
    (pairs > 0).then(|| twice as f64 / (2 * pairs) as f64)
}

/// Over at most ten bins of about equal size. Each count is taken half a record higher, so that an empty bin has a
/// logarithm.
fn information_value(sorted: &[(f64, bool)]) -> Option<f64> {
    let size = (sorted.len() as u64 / BINS as u64).max(1);
    let mut bins = vec![(0_u64, 0_u64)];
    for (good, bad) in runs(sorted) {
        if bins.last().is_some_and(|bin| bin.0 + bin.1 >= size) {
            bins.push((0, 0));
        }
        if let Some(bin) = bins.last_mut() {
            *bin = (bin.0 + good, bin.1 + bad);
        }
    }
    let (good, bad) = bins.iter().fold((0, 0), |sum, bin| (sum.0 + bin.0, sum.1 + bin.1));
    if good == 0 || bad == 0 {
        return None;
    }
    let share = |part: u64, of: u64| (part as f64 + 0.5) / (of as f64 + 0.5 * bins.len() as f64);
    let term = |bin: &(u64, u64)| {
        let (good, bad) = (share(bin.0, good), share(bin.1, bad));
        (good - bad) * (good / bad).ln()
    };
    Some(bins.iter().map(term).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tells_nothing_has_no_power_and_what_tells_all_has_much() {
        let values: Vec<_> = (0..200).map(|n| (Some(f64::from(n)), n < 100)).chain([(None, true)]).collect();
        let all = power("all", values.into_iter());
        assert_eq!((all.auc, all.missing, all.from, all.to), (Some(1.0), 1, Some(0.0), Some(199.0)));
        assert!(all.information_value.unwrap() > 5.0);
        let none = power("none", (0..200).map(|n| (Some(1.0), n % 2 == 0)));
        assert_eq!((none.auc, none.information_value), (Some(0.5), Some(0.0)));
        assert_eq!(auc(&[(1.0, true)]), None);
    }
}
