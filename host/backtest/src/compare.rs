//! The first model beside another one: every statistic of their pair.

use serde::Serialize;

use crate::{
    movers::Movers,
    outcome::{OutcomePart, outcomes},
    pair::Pair,
    report::{ModelPart, Shift, shifts},
    verdict::verdict,
};
use assay_domain::{
    Decile, Score,
    stats::{Edges, Migration, SwapSet, ks, psi, wasserstein},
};

/// Two models on the wallets that both scored.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// What it comes to, in one sentence.
    pub verdict: String,
    pub first: String,
    pub second: String,
    /// Which of the models the second is, the first being 0.
    pub index: usize,
    /// Wallets that both scored.
    pub count: u64,
    pub differences: DifferencePart,
    pub spearman: Option<f64>,
    pub kendall: Option<f64>,
    pub same_range: u64,
    /// Each by its own table of deciles.
    pub same_decile: u64,
    /// Ranges from low to excellent: the first model's in rows, the second's in columns.
    pub migration: Migration,
    pub swap: SwapPart,
    pub distribution: DistributionPart,
    /// Cells that were given: the first score, the second, and how many wallets.
    pub joint: assay_domain::stats::Joint,
    pub factors: Vec<FactorPart>,
    /// How those whose range changes differ from those whose range stays.
    pub figures_of_moved: Vec<Shift>,
    pub moved: u64,
    pub movers: Movers,
    pub outcomes: Option<OutcomePart>,
}

/// The second score less the first, in points.
#[derive(Debug, Clone, Serialize)]
pub struct DifferencePart {
    pub mean: Option<f64>,
    pub median: Option<f64>,
    /// Of the distance, whichever way.
    pub absolute_p50: Option<f64>,
    pub absolute_p95: Option<f64>,
    pub absolute_max: Option<f64>,
    pub up: u64,
    pub same: u64,
    pub down: u64,
}

/// How the scores as a whole are spread, whoever has which.
#[derive(Debug, Clone, Serialize)]
pub struct DistributionPart {
    /// In tenths of the first model's scores.
    pub psi: Option<f64>,
    /// Upper ends of the tenths but the last; equal ones are one.
    pub edges: Edges,
    pub first: Vec<u64>,
    pub second: Vec<u64>,
    /// In twenty bins of 35 points.
    pub psi_fixed: Option<f64>,
    /// In the five named ranges.
    pub psi_ranges: Option<f64>,
    pub ks: Option<f64>,
    /// Points.
    pub wasserstein: Option<f64>,
}

/// Who crosses a cut-off, and what became of them.
#[derive(Debug, Clone, Serialize)]
pub struct SwapPart {
    #[serde(flatten)]
    pub set: SwapSet,
    /// The same with known outcomes: how many there are, and how many of them bad.
    pub known_in: (u64, u64),
    pub known_out: (u64, u64),
}

/// The mean points of one factor over wallets that have it; `None` where the model has no such factor.
#[derive(Debug, Clone, Serialize)]
pub struct FactorPart {
    pub label: String,
    pub first: Option<f64>,
    pub second: Option<f64>,
}

pub fn compare(first: &ModelPart, second: &ModelPart, index: usize, pair: &Pair, cut_off: Score) -> Comparison {
    let joint = &pair.joint;
    let (of_first, of_second) = (joint.first(), joint.second());
    let differences = joint.differences();
    let (up, same, down) = differences.signs();
    let psi_in = |edges: &Edges| psi(&edges.counts(&of_first), &edges.counts(&of_second));
    let edges = Edges::quantiles(&of_first, 10);
    let known = |joint: &assay_domain::stats::Joint| {
        let swap = joint.swap_set(cut_off);
        (swap.swapped_in, swap.swapped_out)
    };
    let ((good_in, good_out), (bad_in, bad_out)) = (known(&pair.labelled.good), known(&pair.labelled.bad));
    let mean = |points: i64, wallets: u64| (wallets > 0).then(|| points as f64 / wallets as f64);
    let factors = pair.factors.iter().map(|sum| {
        let ([a, b], [n, m]) = (sum.points, sum.wallets);
        FactorPart { label: sum.label.clone(), first: mean(a, n), second: mean(b, m) }
    });
    let mut factors: Vec<_> = factors.collect();
    // Threads meet labels in any order.
    factors.sort_by(|a, b| a.label.cmp(&b.label));
    let mut comparison = Comparison {
        verdict: String::new(),
        first: first.identity.name.clone(),
        second: second.identity.name.clone(),
        index,
        count: joint.count(),
        differences: DifferencePart {
            mean: differences.mean(),
            median: differences.quantile(0.5),
            absolute_p50: differences.absolute_quantile(0.5),
            absolute_p95: differences.absolute_quantile(0.95),
            absolute_max: differences.absolute_quantile(1.0),
            up,
            same,
            down,
        },
        spearman: joint.spearman(),
        kendall: joint.kendall(),
        same_range: joint.same_range(),
        same_decile: joint.same_decile(|score| decile(first, score), |score| decile(second, score)),
        migration: joint.migration(),
        swap: SwapPart {
            set: joint.swap_set(cut_off),
            known_in: (good_in + bad_in, bad_in),
            known_out: (good_out + bad_out, bad_out),
        },
        distribution: DistributionPart {
            psi: psi_in(&edges),
            first: edges.counts(&of_first),
            second: edges.counts(&of_second),
            edges,
            psi_fixed: psi_in(&Edges::fixed()),
            psi_ranges: psi_in(&Edges::of_ranges()),
            ks: ks(&of_first, &of_second),
            wasserstein: wasserstein(&of_first, &of_second),
        },
        joint: joint.clone(),
        factors,
        figures_of_moved: shifts(&pair.stayed, &pair.moved),
        moved: joint.count() - joint.same_range(),
        movers: pair.movers.clone(),
        outcomes: outcomes(&pair.labelled),
    };
    comparison.verdict = verdict(&comparison, second);
    comparison
}

fn decile(model: &ModelPart, score: Score) -> Option<Decile> {
    model.identity.deciles.get((score.get() - Score::MIN.get()) as usize).copied()
}
