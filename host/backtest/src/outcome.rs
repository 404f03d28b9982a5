//! How well each of two models predicts the outcomes of the wallets.

use serde::Serialize;

use crate::{
    graded::{self, Graded},
    resample::Clusters,
};
use assay_domain::stats::{DecileRow, Labelled, Logistic, Outcomes, Plan, Resampled};

/// Both models on the wallets with a known outcome.
#[derive(Debug, Clone, Serialize)]
pub struct OutcomePart {
    pub count: u64,
    pub bad: u64,
    pub auc: Figure,
    pub gini: Figure,
    pub ks: Figure,
    /// Of the logistic fit to this sample.
    pub brier: Figure,
    /// The Brier score of the bad rate of the sample, given to every wallet.
    pub brier_of_base_rate: Option<f64>,
    pub plan: Plan,
    /// Where wallets repeat: what the intervals were drawn by.
    pub clusters: Option<u64>,
    pub first: Curve,
    pub second: Curve,
}

/// A figure of both models with its 95 % intervals.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Figure {
    pub first: Option<f64>,
    pub second: Option<f64>,
    pub intervals: Resampled,
}

/// How outcomes fall with one model's score.
#[derive(Debug, Clone, Serialize)]
pub struct Curve {
    pub logistic: Option<Logistic>,
    pub deciles: Vec<DecileRow>,
}

/// The figures, in the order of the fields of [`OutcomePart`].
const FIGURES: [fn(&Outcomes) -> Option<f64>; 4] = [Outcomes::auc, Outcomes::gini, Outcomes::ks, Outcomes::brier];

/// `None` if no outcome is known, or all are equal.
pub(crate) fn outcomes(labelled: &Labelled) -> Option<OutcomePart> {
    let (first, second) = (labelled.first(), labelled.second());
    if first.good.is_empty() || first.bad.is_empty() {
        return None;
    }
    let plan = Plan::of(labelled.count());
    let [auc, gini, ks, brier] = labelled.resample(plan, FIGURES);
    let figure =
        |of: fn(&Outcomes) -> Option<f64>, intervals| Figure { first: of(&first), second: of(&second), intervals };
    Some(OutcomePart {
        count: labelled.count(),
        bad: first.bad.count(),
        auc: figure(Outcomes::auc, auc),
        gini: figure(Outcomes::gini, gini),
        ks: figure(Outcomes::ks, ks),
        brier: figure(Outcomes::brier, brier),
        brier_of_base_rate: first.brier_of_base_rate(),
        plan,
        clusters: None,
        first: Curve { logistic: first.logistic(), deciles: first.deciles() },
        second: Curve { logistic: second.logistic(), deciles: second.deciles() },
    })
}

/// Replaces the intervals of `part` by intervals over clusters, if a cluster has several records. `part` compares the
/// first model with number `index`.
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
