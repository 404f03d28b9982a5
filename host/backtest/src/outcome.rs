//! How well each of two models predicts the outcomes of the wallets.

use serde::Serialize;

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

/// `None` where no outcome is known, or all are equal.
pub(crate) fn outcomes(labelled: &Labelled) -> Option<OutcomePart> {
    let (first, second) = (labelled.first(), labelled.second());
    if first.good.is_empty() || first.bad.is_empty() {
        return None;
    }
    let plan = Plan::of(labelled.count());
    let of: [fn(&Outcomes) -> Option<f64>; 4] = [Outcomes::auc, Outcomes::gini, Outcomes::ks, Outcomes::brier];
    let [auc, gini, ks, brier] = labelled.resample(plan, of);
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
