//! One model on the records with a known outcome. It answers what a credit committee asks: does the bad rate fall over the
//! ranges, how sure is that, for which records does it not hold, and does the model keep the stated bounds?
//!
//! | file | owns |
//! |---|---|
//! | `bands` | bad rates by range and by tenth |
//! | `power` | each factor and each figure alone |
//! | `segments` | by month and by other dimensions, with the stability of the scores |
//! | `held_out` | calibration on records that the fit does not see |
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
    graded::{self, By, Graded, Row},
    resample::Clusters,
    verdict::{ENOUGH_BAD, capital},
    words::ends,
};
use assay_domain::{Claims, Score, stats::Outcomes};

pub use bands::{Band, Claimed, Tenth};
pub use bounds::{Bounds, Check};
pub use external::External;
pub use held_out::HeldOut;
pub use power::Power;
pub use segments::Segment;

pub use crate::resample::Estimate;

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
    /// What the model claims; `None` where it claims nothing.
    pub claims: Option<Claim>,
    /// Whether the bad rate falls from range to range, among the ranges with enough records.
    pub falls: Option<bool>,
    pub tenths: Vec<Tenth>,
    pub factors: Vec<Power>,
    pub figures: Vec<Power>,
    pub months: Vec<Segment>,
    pub segments: Vec<Segment>,
    pub held_out: Option<HeldOut>,
    pub external: Option<External>,
    pub checks: Vec<Check>,
    pub cut_off: Option<CutOff>,
}

/// The event, the time and the wallets for which a model claims rates.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    pub outcome: String,
    pub horizon_days: u32,
    pub population: String,
}

impl Grade {
    /// Puts the claims of the model beside what was observed.
    pub fn claim(&mut self, claims: &Claims) {
        bands::claim(&mut self.ranges, &claims.rates);
        let Claims { outcome, horizon_days, population, .. } = claims.clone();
        self.claims = Some(Claim { outcome, horizon_days, population });
    }
}

/// The records that a lender takes who accepts every score of at least `score`.
#[derive(Debug, Clone, Serialize)]
pub struct CutOff {
    pub score: Score,
    pub accepted: u64,
    pub accepted_bad: u64,
    /// Bad outcomes among the refused records.
    pub refused_bad: u64,
}

/// What the user asks of a grade.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    pub by: Vec<By>,
    pub external: Option<String>,
    pub bounds: Bounds,
    /// The last moment of the data that the model was fitted to. Later records are out of time.
    pub fitted_through: Option<u64>,
    pub cut_off: Option<Score>,
}

/// The rows that model number `index` scored.
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
        graded::outcomes(&self.rows, weights, self.rows.iter().map(|row| row.score(self.index)))
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
        let mut found = self.clusters.estimates(figures).into_iter();
        let mut next = || found.next().unwrap_or_default();
        (next(), next())
    }
}

/// The grade of each model. A model has none where no outcome is known or all outcomes are equal.
pub fn grades(names: &[String], graded: &Graded, asked: &Asked) -> Vec<Grade> {
    let rows = graded.rows();
    names
        .iter()
        .enumerate()
        .filter_map(|(index, name)| {
            let rows = rows.iter().copied().filter(|row| row.score(index).is_some());
            let scored = Scored::of(rows.collect(), index);
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
    let (ranges, tenths) = (bands::ranges(scored, &outcomes), bands::tenths(scored, &outcomes));
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
        claims: None,
        tenths,
        factors: power::factors(scored, labels),
        figures: power::figures(scored),
        months: segments::months(scored),
        segments: segments::segments(scored, asked),
        held_out: held_out::held_out(scored),
        external: asked.external.as_deref().and_then(|column| external::external(scored, column)),
        checks: Vec::new(),
        cut_off: asked.cut_off.map(|score| cut_off(&outcomes, score)),
    };
    grade.checks = bounds::checks(&grade, &asked.bounds);
    grade.verdict = verdict(&grade);
    Some(grade)
}

fn cut_off(outcomes: &Outcomes, score: Score) -> CutOff {
    let (accepted, accepted_bad) = bands::counts(outcomes, |given| given >= score.get());
    CutOff { score, accepted, accepted_bad, refused_bad: outcomes.bad.count() - accepted_bad }
}

/// What the figures show, and no more: the verdict never praises a model whose AUC may be chance.
fn verdict(grade: &Grade) -> String {
    let kept = match grade.checks.iter().all(|check| check.passed) {
        true => "",
        false => " It does not keep the bounds that were stated.",
    };
    capital(&judged(grade)) + kept
}

fn judged(grade: &Grade) -> String {
    let name = &grade.model;
    let Some((auc, interval)) = grade.auc.value.zip(grade.auc.interval) else {
        return format!("{name} cannot be judged: all outcomes are of one wallet.");
    };
    let figure = format!("AUC {auc:.3}, {}", ends(Some(interval), 3));
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
