//! The result of a backtest, in the form of its JSON and its page.

use serde::Serialize;

use crate::{
    compare::{FileComparison, compare},
    grade::{Grade, GradeRequest, StatedClaims, grades},
    models::{ModelIdentity, ModelPart, model, shown},
    outcome,
    record::BadLine,
    shift::{Shift, shifts},
    source::RecordUnit,
    tally::Tally,
    verdict::verdict,
};
use assay_domain::{Claim, Digest, EtherPrices, Score, Time};

/// A features file.
#[derive(Debug, Clone)]
pub struct FeaturesFile {
    pub name: String,
    pub digest: Digest,
}

/// An earlier features file, and its counts.
#[derive(Debug, Clone)]
pub struct Baseline {
    pub file: FeaturesFile,
    pub tally: Tally,
}

/// The input of a report, without the counts.
#[derive(Debug, Clone)]
pub struct About {
    pub made_at: Time,
    pub models: Vec<ModelIdentity>,
    pub file: FeaturesFile,
    pub baseline: Option<Baseline>,
    /// A remark for the readers of the report.
    pub note: Option<String>,
    pub cut_off: Score,
    /// The duration of the run.
    pub seconds: f64,
    /// What the outcome is, in words, and the days within which it happens.
    pub label: Option<String>,
    pub horizon_days: Option<u32>,
    pub asked: GradeRequest,
    /// What the models claim, by population and horizon, in their order.
    pub claims: Vec<Vec<Claim>>,
    /// Daily prices of ether, which decide the conditions of claims; empty if none were given.
    pub ether: EtherPrices,
    /// The cards of the models as Markdown, in their order.
    pub cards: Vec<Option<String>>,
}

/// The whole result.
#[derive(Debug, Clone, Serialize)]
pub struct BacktestReport {
    /// The version of the program.
    pub assay: &'static str,
    pub made_at: Time,
    pub note: Option<String>,
    pub seconds: f64,
    pub sample: Sample,
    pub baseline: Option<Sample>,
    pub models: Vec<ModelPart>,
    #[serde(skip)]
    pub cards: Vec<Option<String>>,
    pub label: Option<String>,
    pub horizon_days: Option<u32>,
    /// Each model by itself on the records with an outcome.
    pub grades: Vec<Grade>,
    /// Each other model compared with the first.
    pub comparisons: Vec<FileComparison>,
    /// The shift of each figure since the baseline; empty without one.
    pub figures_since_baseline: Vec<Shift>,
}

/// A features file.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    pub file: String,
    #[serde(serialize_with = "shown")]
    pub digest: Digest,
    pub records: u64,
    /// The unit of every record number, also of fields named `line`.
    pub counted_in: RecordUnit,
    pub bad_lines: u64,
    pub first_bad_lines: Vec<BadLine>,
    pub with_outcome: u64,
    pub bad_outcomes: u64,
}

/// Computes everything from the counts of `tally`.
pub fn report(about: About, tally: &Tally) -> BacktestReport {
    let baseline = about.baseline.as_ref().map(|baseline| &baseline.tally);
    let models: Vec<_> = about
        .models
        .into_iter()
        .zip(&tally.models)
        .enumerate()
        .map(|(index, (identity, counts))| model(identity, counts, baseline.and_then(|tally| tally.models.get(index))))
        .collect();
    let comparisons = match models.split_first() {
        Some((first, others)) => {
            let compared = others.iter().zip(&tally.pairs).zip(1..).map(|((second, pair), index)| {
                let mut found = compare(first, second, index, pair, about.cut_off);
                if let Some(outcomes) = &mut found.outcomes {
                    outcome::cluster(outcomes, &tally.graded, index);
                }
                found.verdict = verdict(&found, second);
                found
            });
            compared.collect()
        }
        None => Vec::new(),
    };
    let names: Vec<_> = models.iter().map(|model| model.identity.name.clone()).collect();
    BacktestReport {
        cards: about.cards,
        label: about.label,
        horizon_days: about.horizon_days,
        grades: grades(
            &names,
            &tally.graded,
            &about.asked,
            StatedClaims { claims: &about.claims, horizon: about.horizon_days, ether: &about.ether },
        ),
        assay: env!("CARGO_PKG_VERSION"),
        made_at: about.made_at,
        note: about.note,
        seconds: about.seconds,
        sample: sample(about.file, tally),
        figures_since_baseline: baseline.map(|baseline| shifts(&baseline.figures, &tally.figures)).unwrap_or_default(),
        baseline: about.baseline.map(|baseline| sample(baseline.file, &baseline.tally)),
        models,
        comparisons,
    }
}

fn sample(file: FeaturesFile, tally: &Tally) -> Sample {
    Sample {
        file: file.name,
        digest: file.digest,
        records: tally.records,
        counted_in: tally.unit,
        bad_lines: tally.bad,
        first_bad_lines: tally.first_bad.clone(),
        with_outcome: tally.outcomes,
        bad_outcomes: tally.bad_outcomes,
    }
}
