//! How far each figure of the wallets differs between two groups.

use serde::Serialize;

use assay_domain::{
    features::{FIGURES, Figure},
    stats::{Band, Sketch},
};

/// One figure in two groups of wallets.
#[derive(Debug, Clone, Serialize)]
pub struct Shift {
    pub figure: &'static str,
    pub psi: Option<f64>,
    /// The median of each group, with an error of at most 1.6 %.
    pub expected_median: Option<f64>,
    pub actual_median: Option<f64>,
    /// The bins of the index, with their counts.
    pub bins: Vec<Band>,
}

/// Of each figure, the shift from `expected` to `actual`, the largest first.
pub(crate) fn shifts(expected: &[Sketch], actual: &[Sketch]) -> Vec<Shift> {
    // Below 32 each band of a sketch holds one whole number, its lower end.
    let median =
        |sketch: &Sketch, whole: bool| sketch.quantile(0.5).map(|median| if whole { median.floor() } else { median });
    let shift = |((Figure { name, is_whole: whole, .. }, expected), actual): ((&Figure, &Sketch), &Sketch)| Shift {
        figure: name,
        psi: expected.psi(actual),
        expected_median: median(expected, *whole),
        actual_median: median(actual, *whole),
        bins: expected.bins(actual, 10),
    };
    let mut shifts: Vec<_> = FIGURES.iter().zip(expected).zip(actual).map(shift).collect();
    // A figure without values is left out.
    shifts.retain(|shift| shift.expected_median.is_some() || shift.actual_median.is_some());
    shifts.sort_by(|a, b| b.psi.unwrap_or(0.0).total_cmp(&a.psi.unwrap_or(0.0)));
    shifts
}
