//! Two models on the same clusters: the intervals of their difference where wallets repeat.

use crate::{
    graded::{Graded, Row},
    outcome::OutcomePart,
    resample::Clusters,
};
use assay_domain::stats::{Interval, Outcomes, Resampled};

const FIGURES: [fn(&Outcomes) -> Option<f64>; 4] = [Outcomes::auc, Outcomes::gini, Outcomes::ks, Outcomes::brier];

/// Replaces the intervals of `part`, the first model and number `index`, where a cluster has several records.
pub fn cluster(part: &mut OutcomePart, graded: &Graded, index: usize) {
    let score = |row: &Row, model: usize| row.scores.get(model).copied().flatten();
    let rows: Vec<_> =
        graded.rows().into_iter().filter(|row| score(row, 0).is_some() && score(row, index).is_some()).collect();
    let clusters = Clusters::of(&rows);
    if clusters.largest() < 2 {
        return;
    }
    let figures = |weights: &[u64]| {
        let (mut first, mut second) = (Outcomes::default(), Outcomes::default());
        for (row, weight) in rows.iter().zip(weights) {
            for (outcomes, model) in [(&mut first, 0), (&mut second, index)] {
                let Some(score) = score(row, model) else { continue };
                if row.bad { &mut outcomes.bad } else { &mut outcomes.good }.add_many(score, *weight);
            }
        }
        let of = |figure: fn(&Outcomes) -> Option<f64>| {
            let (a, b) = (figure(&first), figure(&second));
            [a, b, a.zip(b).map(|(a, b)| b - a)]
        };
        FIGURES.into_iter().flat_map(of).collect()
    };
    let found = clusters.intervals(figures);
    let used = u32::try_from(clusters.resamples()).unwrap_or(u32::MAX);
    let parts = [&mut part.auc, &mut part.gini, &mut part.ks, &mut part.brier];
    for (figure, intervals) in parts.into_iter().zip(found.chunks(3)) {
        let at = |place: usize| intervals.get(place).copied().flatten();
        let (first, second, difference): (Option<Interval>, _, _) = (at(0), at(1), at(2));
        figure.intervals = Resampled { first, second, difference, used };
    }
    part.clusters = Some(clusters.count() as u64);
    part.plan.resamples = used;
}
