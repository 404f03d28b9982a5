//! The counts of one model in the form of the report.

use std::{collections::BTreeMap, fmt};

use serde::{Serialize, Serializer};

use crate::tally::{ModelTally, Without};
use assay_domain::{
    Decile, Digest, Score,
    stats::{Edges, Histogram, psi},
};

/// The identity of a model.
#[derive(Debug, Clone, Serialize)]
pub struct ModelIdentity {
    /// Kind and version, for example `credit 1.1`.
    pub name: String,
    pub title: String,
    /// SHA-256 of its bytes.
    #[serde(serialize_with = "shown")]
    pub digest: Digest,
    /// The decile of each score from 300 to 1000.
    #[serde(skip)]
    pub deciles: Vec<Decile>,
}

impl ModelIdentity {
    /// The decile of `score` in this model's table.
    pub fn decile(&self, score: Score) -> Option<Decile> {
        self.deciles.get((score.get() - Score::MIN.get()) as usize).copied()
    }
}

/// One model on the sample.
#[derive(Debug, Clone, Serialize)]
pub struct ModelPart {
    #[serde(flatten)]
    pub identity: ModelIdentity,
    pub scored: u64,
    pub refused: u64,
    pub failed: u64,
    pub without_score: BTreeMap<&'static str, Without>,
    pub mean: Option<f64>,
    pub deviation: Option<f64>,
    /// At 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1.
    pub quantiles: [Option<f64>; 7],
    pub histogram: Histogram,
    /// The population stability index of its scores, in bins at the deciles of the baseline.
    pub psi_since_baseline: Option<f64>,
    pub cost: CostPart,
}

/// The cost of calls.
#[derive(Debug, Clone, Serialize)]
pub struct CostPart {
    /// Microseconds per call with every thread busy, with an error of at most 1.6 %.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    /// Calls on the engine that counts fuel.
    pub sampled: u64,
    /// With an error of at most 1.6 %; equal on every machine.
    pub fuel_p50: Option<f64>,
    pub fuel_p99: Option<f64>,
    /// The most linear memory of a sampled call.
    pub memory_bytes: u64,
}

/// Computes the part of one model, and its shift since `baseline`.
pub(crate) fn model(identity: ModelIdentity, counts: &ModelTally, baseline: Option<&ModelTally>) -> ModelPart {
    let since = |baseline: &ModelTally| {
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

/// Serialises `value` as its text.
pub(crate) fn shown<S: Serializer>(value: &impl fmt::Display, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}
