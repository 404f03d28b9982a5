//! One model on the records with a known outcome, as a credit committee asks: does the bad rate fall over the ranges, how
//! sure is that, where does it not hold, and does it keep the stated bounds.
//!
//! | file | owns |
//! |---|---|
//! | `bands` | bad rates by range and by tenth |
//! | `power` | what each factor and each figure tells alone |
//! | `segments` | by month and by other dimensions, with the stability of the scores |
//! | `held_out` | calibration on records that were not fitted to |
//! | `external` | another score, a column of the file |
//! | `bounds` | pass or fail |

mod bands;
mod bounds;
mod external;
mod held_out;
mod power;
mod segments;

use serde::Serialize;

use crate::{
    graded::{By, Graded, Row},
    resample::Clusters,
    words::decimal,
};
use assay_domain::stats::{Interval, Outcomes};

pub use bands::{Band, Tenth};
pub use bounds::{Bounds, Check};
pub use external::External;
pub use held_out::HeldOut;
pub use power::Power;
pub use segments::{Segment, day};

/// Below this number of bad outcomes nothing is shown.
pub const ENOUGH_BAD: u64 = 20;

/// A figure with its 95 % interval.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Estimate {
    pub value: Option<f64>,
    pub interval: Option<Interval>,
}

/// One model on the records with an outcome that it scored.
#[derive(Debug, Clone, Serialize)]
pub struct Grade {
    pub model: String,
    /// The result in one sentence.
    pub verdict: String,
    pub count: u64,
    pub bad: u64,
    /// Records with an outcome in the file; more than `count` where the model refused some or the file is large.
    pub known: u64,
    pub clusters: u64,
    pub largest_cluster: u64,
    pub resamples: u64,
    /// The first and the last date.
    pub from: u64,
    pub to: u64,
    pub auc: Estimate,
    pub ks: Estimate,
    pub ranges: Vec<Band>,
    /// Whether the bad rate falls from range to range, among those with enough wallets.
    pub falls: Option<bool>,
    pub tenths: Vec<Tenth>,
    pub factors: Vec<Power>,
    pub figures: Vec<Power>,
    pub months: Vec<Segment>,
    pub segments: Vec<Segment>,
    pub held_out: Option<HeldOut>,
    pub external: Option<External>,
    pub checks: Vec<Check>,
}

/// What a grade is made of, beside the rows.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub by: Vec<By>,
    pub external: Option<String>,
    pub bounds: Bounds,
}

/// The rows that a model scored, with what every part needs of them.
pub struct Scored<'a> {
    pub rows: Vec<&'a Row>,
    pub index: usize,
    pub clusters: Clusters,
}

impl<'a> Scored<'a> {
    fn of(rows: Vec<&'a Row>, index: usize) -> Self {
        let clusters = Clusters::of(&rows);
        Self { rows, index, clusters }
    }

    /// The scores with their outcomes, each row as often as its weight says.
    pub fn outcomes(&self, weights: &[u64]) -> Outcomes {
        let mut found = Outcomes::default();
        for (row, weight) in self.rows.iter().zip(weights) {
            if let Some(score) = row.scores.get(self.index).copied().flatten() {
                if row.bad { &mut found.bad } else { &mut found.good }.add_many(score, *weight);
            }
        }
        found
    }

    pub fn once(&self) -> Outcomes {
        self.outcomes(&vec![1; self.rows.len()])
    }

    /// AUC and KS with intervals.
    pub fn separation(&self) -> (Estimate, Estimate) {
        let figures = |weights: &[u64]| {
            let outcomes = self.outcomes(weights);
            vec![outcomes.auc(), outcomes.ks()]
        };
        let values = figures(&vec![1; self.rows.len()]);
        let intervals = self.clusters.intervals(figures);
        let at = |index: usize| Estimate {
            value: values.get(index).copied().flatten(),
            interval: intervals.get(index).copied().flatten(),
        };
        (at(0), at(1))
    }
}

/// The grade of each model; none where no outcome is known or all are equal.
pub fn grades(names: &[String], graded: &Graded, asked: &Asked) -> Vec<Grade> {
    let rows = graded.rows();
    let has = |row: &&Row, index: usize| row.scores.get(index).copied().flatten().is_some();
    names
        .iter()
        .enumerate()
        .filter_map(|(index, name)| {
            let scored = Scored::of(rows.iter().copied().filter(|row| has(row, index)).collect(), index);
            let labels = graded.labels.get(index).map(Vec::as_slice).unwrap_or_default();
            grade(name, &scored, labels, graded.seen, asked)
        })
        .collect()
}

fn grade(name: &str, scored: &Scored<'_>, labels: &[String], known: u64, asked: &Asked) -> Option<Grade> {
    let outcomes = scored.once();
    if outcomes.good.is_empty() || outcomes.bad.is_empty() {
        return None;
    }
    let (auc, ks) = scored.separation();
    let (ranges, tenths) = (bands::ranges(scored), bands::tenths(scored));
    let dates = || scored.rows.iter().map(|row| row.as_of);
    let mut grade = Grade {
        model: name.to_owned(),
        verdict: String::new(),
        count: outcomes.count(),
        bad: outcomes.bad.count(),
        known,
        clusters: scored.clusters.count() as u64,
        largest_cluster: scored.clusters.largest() as u64,
        resamples: scored.clusters.resamples() as u64,
        from: dates().min().unwrap_or(0),
        to: dates().max().unwrap_or(0),
        auc,
        ks,
        falls: bands::falls(&ranges),
        ranges,
        tenths,
        factors: power::factors(scored, labels),
        figures: power::figures(scored),
        months: segments::months(scored),
        segments: segments::segments(scored, &asked.by),
        held_out: held_out::held_out(scored),
        external: asked.external.as_deref().and_then(|column| external::external(scored, column)),
        checks: Vec::new(),
    };
    grade.checks = bounds::checks(&grade, &asked.bounds);
    grade.verdict = verdict(&grade);
    Some(grade)
}

/// What the figures show and no more: a score at chance is not called good.
fn verdict(grade: &Grade) -> String {
    let name = &grade.model;
    let Some((auc, interval)) = grade.auc.value.zip(grade.auc.interval) else {
        return format!("{name} cannot be judged: all outcomes are of one wallet.");
    };
    let figure = format!("AUC {auc:.3}, {} to {}", decimal(Some(interval.low), 3), decimal(Some(interval.high), 3));
    let falls = match grade.falls {
        Some(true) => ", and the bad rate falls from range to range",
        Some(false) => ", but the bad rate does not fall from range to range",
        None => "",
    };
    if grade.bad < ENOUGH_BAD {
        return format!("{} bad outcomes are too few to judge {name} ({figure}){falls}.", grade.bad);
    }
    match () {
        () if interval.high < 0.5 => format!("{name} gives those who turned out bad the higher scores ({figure})."),
        () if interval.low <= 0.5 => format!("{name} is not shown to tell bad outcomes from good ones ({figure})."),
        () => format!("{name} tells bad outcomes from good ones ({figure}){falls}."),
    }
}
