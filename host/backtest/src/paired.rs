//! The intervals of two models and of their difference, over clusters, where a wallet has several records.

use crate::{
    graded::{self, Graded},
    outcome::OutcomePart,
    resample::Clusters,
};
use assay_domain::stats::{Outcomes, Resampled};

const FIGURES: [fn(&Outcomes) -> Option<f64>; 4] = [Outcomes::auc, Outcomes::gini, Outcomes::ks, Outcomes::brier];

/// Replaces the intervals of `part` where a cluster has several records. `part` compares the first model with number
/// `index`.
pub(crate) fn cluster(part: &mut OutcomePart, graded: &Graded, index: usize) {
    let mut rows = graded.rows();
    rows.retain(|row| row.score(0).is_some() && row.score(index).is_some());
    let clusters = Clusters::of(&rows);
    if clusters.largest() < 2 {
        return;
    }
    let figures = |weights: &[u64]| {
        let outcomes = |model: usize| graded::outcomes(&rows, weights, rows.iter().map(|row| row.score(model)));
        let (first, second) = (outcomes(0), outcomes(index));
        let of = |figure: fn(&Outcomes) -> Option<f64>| {
            let (a, b) = (figure(&first), figure(&second));
            [a, b, a.zip(b).map(|(a, b)| b - a)]
        };
        FIGURES.into_iter().flat_map(of).collect()
    };
    let found = clusters.estimates(figures);
    let used = u32::try_from(clusters.resamples()).unwrap_or(u32::MAX);
    let parts = [&mut part.auc, &mut part.gini, &mut part.ks, &mut part.brier];
    for (figure, estimates) in parts.into_iter().zip(found.chunks(3)) {
        let at = |place: usize| estimates.get(place).and_then(|estimate| estimate.interval);
        figure.intervals = Resampled { first: at(0), second: at(1), difference: at(2), used };
    }
    part.clusters = Some(clusters.count() as u64);
    part.plan.resamples = used;
}
