//! What the counts say, in the shape that is written as JSON and shown on the page.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{
    compare::{Comparison, compare},
    figures::{NAMES, WHOLE},
    record::BadLine,
    source::Unit,
    tally::{OfModel, Tally, Without},
};
use assay_domain::{
    Decile, Digest, Score, Time,
    stats::{Edges, Histogram, Sketch, psi},
};

/// Who a model is.
#[derive(Debug, Clone, Serialize)]
pub struct Identity {
    /// Kind and version, for example `credit 1.1`.
    pub name: String,
    pub title: String,
    /// SHA-256 of its bytes.
    #[serde(serialize_with = "shown")]
    pub digest: Digest,
    /// Of each score from 300 to 1000.
    #[serde(skip)]
    pub deciles: Vec<Decile>,
}

/// What a report is about.
#[derive(Debug, Clone)]
pub struct About {
    pub made_at: Time,
    pub models: Vec<Identity>,
    /// Name and digest of the features file, and of the baseline where there is one.
    pub file: (String, Digest),
    pub baseline: Option<(String, Digest, Tally)>,
    /// A remark of whoever ran it, for whoever reads it.
    pub note: Option<String>,
    pub cut_off: Score,
    /// Of the whole run.
    pub seconds: f64,
}

/// The whole result.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Of the program that made it.
    pub assay: &'static str,
    pub made_at: Time,
    pub note: Option<String>,
    pub seconds: f64,
    pub sample: Sample,
    pub baseline: Option<Sample>,
    pub models: Vec<ModelPart>,
    /// Each other model against the first.
    pub comparisons: Vec<Comparison>,
    /// Where there is a baseline: how each figure of the wallets has shifted since.
    pub figures_since_baseline: Vec<Shift>,
}

/// A features file.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub file: String,
    #[serde(serialize_with = "shown")]
    pub digest: Digest,
    pub records: u64,
    /// What a number of a record counts, here and wherever it says `line`.
    pub counted_in: Unit,
    pub bad_lines: u64,
    pub first_bad_lines: Vec<BadLine>,
    pub with_outcome: u64,
    pub bad_outcomes: u64,
}

/// One model on the sample.
#[derive(Debug, Clone, Serialize)]
pub struct ModelPart {
    #[serde(flatten)]
    pub identity: Identity,
    pub scored: u64,
    pub refused: u64,
    pub failed: u64,
    pub without_score: BTreeMap<&'static str, Without>,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    /// At 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1.
    pub quantiles: [Option<f64>; 7],
    pub histogram: Histogram,
    /// The population stability index of its scores, the baseline's deciles as bins.
    pub psi_since_baseline: Option<f64>,
    pub cost: CostPart,
}

/// What calls cost.
#[derive(Debug, Clone, Serialize)]
pub struct CostPart {
    /// Microseconds per call while every thread was at work, right to 1.6 %.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Calls on the engine that counts.
    pub sampled: u64,
    /// Right to 1.6 %, and the same on every machine.
    pub fuel_p50: Option<f64>,
    pub fuel_p99: Option<f64>,
    /// The most linear memory of a sampled call.
    pub memory_bytes: u64,
}

/// How a figure differs between two groups of wallets.
#[derive(Debug, Clone, Serialize)]
pub struct Shift {
    pub figure: &'static str,
    pub psi: Option<f64>,
    /// The median of each group, right to 1.6 %.
    pub expected_median: Option<f64>,
    pub actual_median: Option<f64>,
    /// The bins of the index, with their counts.
    pub bins: Vec<assay_domain::stats::Band>,
}

/// Of each figure, the shift from `expected` to `actual`, the largest first.
pub fn shifts(expected: &[Sketch], actual: &[Sketch]) -> Vec<Shift> {
    // Below 32 a band has one whole number, at which it begins.
    let median =
        |sketch: &Sketch, whole: bool| sketch.quantile(0.5).map(|median| if whole { median.floor() } else { median });
    let shift = |(((figure, whole), expected), actual): (((&&'static str, bool), &Sketch), &Sketch)| Shift {
        figure,
        psi: expected.psi(actual),
        expected_median: median(expected, whole),
        actual_median: median(actual, whole),
        bins: expected.bins(actual, 10),
    };
    let mut shifts: Vec<_> = NAMES.iter().zip(WHOLE).zip(expected).zip(actual).map(shift).collect();
    // What nobody has says nothing.
    shifts.retain(|shift| shift.expected_median.is_some() || shift.actual_median.is_some());
    shifts.sort_by(|a, b| b.psi.unwrap_or(0.0).total_cmp(&a.psi.unwrap_or(0.0)));
    shifts
}

/// Computes everything from the counts of `tally`.
pub fn report(about: About, tally: &Tally) -> Report {
    let baseline = about.baseline.as_ref().map(|(_, _, tally)| tally);
    let models: Vec<_> = about
        .models
        .into_iter()
        .zip(&tally.models)
        .enumerate()
        .map(|(index, (identity, counts))| model(identity, counts, baseline.and_then(|tally| tally.models.get(index))))
        .collect();
    let comparisons = match models.split_first() {
        Some((first, others)) => {
            let compared = others.iter().zip(&tally.pairs).zip(1..);
            compared.map(|((second, pair), index)| compare(first, second, index, pair, about.cut_off)).collect()
        }
        None => Vec::new(),
    };
    Report {
        assay: env!("CARGO_PKG_VERSION"),
        made_at: about.made_at,
        note: about.note,
        seconds: about.seconds,
        sample: sample(about.file.0, about.file.1, tally),
        figures_since_baseline: baseline.map(|baseline| shifts(&baseline.figures, &tally.figures)).unwrap_or_default(),
        baseline: about.baseline.map(|(file, digest, tally)| sample(file, digest, &tally)),
        models,
        comparisons,
    }
}

fn sample(file: String, digest: Digest, tally: &Tally) -> Sample {
    Sample {
        file,
        digest,
        records: tally.records,
        counted_in: tally.unit,
        bad_lines: tally.bad,
        first_bad_lines: tally.first_bad.clone(),
        with_outcome: tally.outcomes,
        bad_outcomes: tally.bad_outcomes,
    }
}

fn model(identity: Identity, counts: &OfModel, baseline: Option<&OfModel>) -> ModelPart {
    let since = |baseline: &OfModel| {
        let edges = Edges::quantiles(&baseline.scores, 10);
        psi(&edges.counts(&baseline.scores), &edges.counts(&counts.scores))
    };
    ModelPart {
        identity,
        scored: counts.scores.count(),
        refused: counts.refusals(),
        failed: counts.faults(),
        without_score: counts.without.clone(),
        mean: counts.scores.mean(),
        deviation: counts.scores.variance().map(f64::sqrt),
        quantiles: [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0].map(|p| counts.scores.quantile(p)),
        histogram: counts.scores.clone(),
        psi_since_baseline: baseline.and_then(since),
        cost: CostPart {
            p50_us: counts.latency.quantile(0.5),
            p99_us: counts.latency.quantile(0.99),
            sampled: counts.fuel.count(),
            fuel_p50: counts.fuel.quantile(0.5),
            fuel_p99: counts.fuel.quantile(0.99),
            memory_bytes: counts.memory,
        },
    }
}

/// Written as people write it.
pub fn shown<S: serde::Serializer>(value: &impl std::fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
