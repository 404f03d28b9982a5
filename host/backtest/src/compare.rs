//! Compares another model with the first one: every statistic of their pair.

use serde::Serialize;

use crate::{
    models::ModelPart,
    movers::Movers,
    outcome::{OutcomePart, outcomes},
    pair::Pair,
    shift::{Shift, shifts},
    words::{grouped, records},
};
use assay_domain::{
    Score,
    stats::{Edges, Joint, Migration, SwapSet, ks, psi, wasserstein},
};

/// Two models on the wallets that both scored.
#[derive(Debug, Clone, Serialize)]
pub struct FileComparison {
    /// The result in one sentence.
    pub verdict: String,
    pub first: String,
    pub second: String,
    /// The index of the second model; the first one has 0.
    pub index: usize,
    /// Wallets that both scored.
    pub count: u64,
    pub differences: DifferencePart,
    pub spearman: Option<f64>,
    pub kendall: Option<f64>,
    pub same_range: u64,
    /// Each model uses its own table of deciles.
    pub same_decile: u64,
    /// Ranges from low to excellent: the first model's in rows, the second's in columns.
    pub migration: Migration,
    pub swap: SwapPart,
    pub distribution: DistributionPart,
    /// The number of wallets for each pair of scores.
    pub joint: Joint,
    pub factors: Vec<FactorPart>,
    /// How wallets whose range changes differ from the others.
    pub figures_of_moved: Vec<Shift>,
    pub moved: u64,
    pub movers: Movers,
    pub outcomes: Option<OutcomePart>,
}

impl FileComparison {
    /// What both scored, in words: wallets, or records if a wallet has several.
    pub fn records(&self) -> String {
        match self.outcomes.as_ref().and_then(|known| Some((known.count, known.clusters?))) {
            Some((known, wallets)) if known == self.count => records(known, Some(wallets)),
            Some(_) => format!("{} records", grouped(self.count)),
            None => records(self.count, None),
        }
    }
}

/// The second score minus the first, in points.
#[derive(Debug, Clone, Serialize)]
pub struct DifferencePart {
    pub mean: Option<f64>,
    pub median: Option<f64>,
    /// Quantiles of the absolute difference.
    pub absolute_p50: Option<f64>,
    pub absolute_p95: Option<f64>,
    pub absolute_max: Option<f64>,
    pub up: u64,
    pub same: u64,
    pub down: u64,
}

/// The distributions of both scores.
#[derive(Debug, Clone, Serialize)]
pub struct DistributionPart {
    /// In bins at the deciles of the first model's scores.
    pub psi: Option<f64>,
    /// Upper edges of these bins without the last one; equal edges are merged.
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

/// The wallets that cross a cut-off, and their outcomes.
#[derive(Debug, Clone, Serialize)]
pub struct SwapPart {
    #[serde(flatten)]
    pub set: SwapSet,
    /// Those with a known outcome, and those with a bad one.
    pub known_in: (u64, u64),
    pub known_out: (u64, u64),
}

/// The mean points of one factor over wallets that have it; `None` if the model has no such factor.
#[derive(Debug, Clone, Serialize)]
pub struct FactorPart {
    pub label: String,
    pub first: Option<f64>,
    pub second: Option<f64>,
}

/// Compares two models. The verdict is empty until [`crate::verdict`] writes it.
pub(crate) fn compare(
    first: &ModelPart,
    second: &ModelPart,
    index: usize,
    pair: &Pair,
    cut_off: Score,
) -> FileComparison {
    let joint = &pair.joint;
    FileComparison {
        verdict: String::new(),
        first: first.identity.name.clone(),
        second: second.identity.name.clone(),
        index,
        count: joint.count(),
        differences: differences(joint),
        spearman: joint.spearman(),
        kendall: joint.kendall(),
        same_range: joint.same_range(),
        same_decile: joint.same_decile(|score| first.identity.decile(score), |score| second.identity.decile(score)),
        migration: joint.migration(),
        swap: swap(pair, cut_off),
        distribution: distribution(joint),
        joint: joint.clone(),
        factors: factors(pair),
        figures_of_moved: shifts(&pair.stayed, &pair.moved),
        moved: joint.count() - joint.same_range(),
        movers: pair.movers.clone(),
        outcomes: outcomes(&pair.labelled),
    }
}

fn differences(joint: &Joint) -> DifferencePart {
    let differences = joint.differences();
    let (up, same, down) = differences.signs();
    DifferencePart {
        mean: differences.mean(),
        median: differences.quantile(0.5),
        absolute_p50: differences.absolute_quantile(0.5),
        absolute_p95: differences.absolute_quantile(0.95),
        absolute_max: differences.absolute_quantile(1.0),
        up,
        same,
        down,
    }
}

fn swap(pair: &Pair, cut_off: Score) -> SwapPart {
    let known = |joint: &Joint| {
        let swap = joint.swap_set(cut_off);
        (swap.swapped_in, swap.swapped_out)
    };
    let ((good_in, good_out), (bad_in, bad_out)) = (known(&pair.labelled.good), known(&pair.labelled.bad));
    SwapPart {
        set: pair.joint.swap_set(cut_off),
        known_in: (good_in + bad_in, bad_in),
        known_out: (good_out + bad_out, bad_out),
    }
}

fn distribution(joint: &Joint) -> DistributionPart {
    let (first, second) = (joint.first(), joint.second());
    let psi_in = |edges: &Edges| psi(&edges.counts(&first), &edges.counts(&second));
    let edges = Edges::quantiles(&first, 10);
    DistributionPart {
        psi: psi_in(&edges),
        first: edges.counts(&first),
        second: edges.counts(&second),
        edges,
        psi_fixed: psi_in(&Edges::fixed()),
        psi_ranges: psi_in(&Edges::of_ranges()),
        ks: ks(&first, &second),
        wasserstein: wasserstein(&first, &second),
    }
}

fn factors(pair: &Pair) -> Vec<FactorPart> {
    let mean = |points: i64, wallets: u64| (wallets > 0).then(|| points as f64 / wallets as f64);
    let factors = pair.factors.iter().map(|sum| {
        let ([a, b], [n, m]) = (sum.points, sum.wallets);
        FactorPart { label: sum.label.clone(), first: mean(a, n), second: mean(b, m) }
    });
    let mut factors: Vec<_> = factors.collect();
    // The threads find the labels in any order.
    factors.sort_by(|a, b| a.label.cmp(&b.label));
    factors
}
