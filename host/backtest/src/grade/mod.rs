//! One model on the records with a known outcome. It answers what a credit committee asks: does the bad rate fall over
//! the ranges, how sure is that, for which records does it not hold, and does the model keep the stated bounds?
//!
//! | file | owns |
//! |---|---|
//! | `bands` | bad rates and dollars by range, bad rates by tenth |
//! | `order` | the AUC of any value, within dates and over all of them |
//! | `beside` | the model beside simple baselines, and beside another score |
//! | `claims` | what the model claims beside what was observed |
//! | `power` | each factor and each figure alone |
//! | `segments` | by month and by other dimensions, with the stability of the scores |
//! | `held_out` | calibration on records that the fit does not see |
//! | `bounds` | pass or fail |

mod bands;
mod beside;
mod bounds;
mod claims;
mod held_out;
mod order;
mod power;
mod segments;

use serde::Serialize;

use crate::{
    graded::{self, By, Clustered, Graded, GradedRow},
    resample::Clusters,
    verdict::{ENOUGH_BAD, capital},
    words::ends,
};
use assay_domain::{Claim, EtherPrices, Score, stats::Outcomes};
use order::Order;

pub(crate) use bands::{Band, Tenth};
pub(crate) use beside::{Baseline, ComparedValue, ExternalScore, Paired};
pub(crate) use bounds::BoundCheck;
pub use bounds::GradeBounds;
use claims::ClaimsResult;
pub(crate) use claims::{ClaimResult, ClaimedRange};
pub(crate) use held_out::HeldOut;
pub(crate) use power::Power;
pub(crate) use segments::GradeSegment;

pub(crate) use crate::resample::Estimate;

/// One model on the records with an outcome that it scored.
#[derive(Debug, Clone, Serialize)]
pub struct Grade {
    pub model: String,
    /// The result in one sentence.
    pub verdict: String,
    pub count: u64,
    pub bad: u64,
    /// Records with an outcome in the file; more than `count` if the model refused some or the file is large.
    pub known: u64,
    pub clusters: u64,
    pub largest_cluster: u64,
    /// What said which records belong together.
    pub clusters_found: String,
    pub resamples: u64,
    /// The first and the last date.
    pub from: u64,
    pub to: u64,
    /// Over all dates together.
    pub auc: Estimate,
    /// The AUC of pairs of one date only; without a value if no date has a good and a bad record.
    pub within_dates: Estimate,
    /// Dates with a good and a bad record.
    pub dates: u64,
    pub ks: Estimate,
    /// The model beside what needs no fit.
    pub baselines: Vec<Baseline>,
    pub ranges: Vec<Band>,
    /// What the model claims, by population and horizon; empty if it claims nothing.
    pub claims: Vec<ClaimResult>,
    /// Whether the bad rate falls from range to range, among the ranges with enough records.
    pub falls: Option<bool>,
    pub tenths: Vec<Tenth>,
    pub factors: Vec<Power>,
    pub figures: Vec<Power>,
    pub months: Vec<GradeSegment>,
    pub segments: Vec<GradeSegment>,
    pub held_out: Option<HeldOut>,
    pub external: Option<ExternalScore>,
    pub checks: Vec<BoundCheck>,
    pub cut_off: Option<CutOff>,
    /// Every twentieth cut-off.
    pub curve: Vec<CutOff>,
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
pub struct GradeRequest {
    pub by: Vec<By>,
    pub external: Option<String>,
    pub bounds: GradeBounds,
    /// The last moment of the data that the model was fitted to. Later records are out of time.
    pub fitted_through: Option<u64>,
    pub cut_off: Option<Score>,
}

/// The rows that model number `index` scored.
pub(crate) struct ScoredRows<'a> {
    pub rows: Vec<&'a GradedRow>,
    pub index: usize,
    pub clusters: Clusters,
}

impl<'a> ScoredRows<'a> {
    fn of(rows: Vec<&'a GradedRow>, index: usize) -> Self {
        let clusters = Clusters::of(&rows);
        Self { rows, index, clusters }
    }

    /// The scores with their outcomes, each row as often as its weight says.
    pub(crate) fn outcomes(&self, weights: &[u64]) -> Outcomes {
        graded::outcomes(&self.rows, weights, self.rows.iter().map(|row| row.score(self.index)))
    }

    pub(crate) fn once(&self) -> Outcomes {
        self.outcomes(&vec![1; self.rows.len()])
    }

    /// AUC and KS with intervals.
    pub(crate) fn separation(&self) -> (Estimate, Estimate) {
        let figures = |weights: &[u64]| {
            let outcomes = self.outcomes(weights);
            vec![outcomes.auc(), outcomes.ks()]
        };
        let mut found = self.clusters.estimates(figures).into_iter();
        let mut next = || found.next().unwrap_or_default();
        (next(), next())
    }

    /// The AUC of pairs of one date, and the number of dates that have any.
    fn within_dates(&self) -> (Estimate, u64) {
        let order = Order::within_dates(&self.rows, |row| row.score(self.index).map(|score| f64::from(score.get())));
        let found = self.clusters.estimates(|weights| vec![order.auc(&self.rows, weights)]);
        (found.first().copied().unwrap_or_default(), order.both(&self.rows))
    }
}

/// What the models claim, in their order, the days within which the outcomes of the file happened, and the prices of
/// ether that decide conditions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StatedClaims<'a> {
    pub claims: &'a [Vec<Claim>],
    pub horizon: Option<u32>,
    pub ether: &'a EtherPrices,
}

/// The grade of each model. A model has none if no outcome is known or all outcomes are equal.
pub(crate) fn grades(names: &[String], graded: &Graded, asked: &GradeRequest, stated: StatedClaims<'_>) -> Vec<Grade> {
    let rows = graded.rows();
    names
        .iter()
        .enumerate()
        .filter_map(|(index, name)| {
            let rows = rows.iter().copied().filter(|row| row.score(index).is_some());
            let scored = ScoredRows::of(rows.collect(), index);
            let labels = graded.labels.get(index).map(Vec::as_slice).unwrap_or_default();
            let claims = stated.claims.get(index).map(Vec::as_slice).unwrap_or_default();
            let mut grade = grade(name, &scored, labels, asked)?;
            grade.known = graded.seen;
            grade.claims = claims::claimed(&scored, claims, stated);
            grade.checks = bounds::checks(&grade, &asked.bounds);
            grade.verdict = verdict(&grade);
            Some(grade)
        })
        .collect()
}

/// Everything but what the claims decide.
fn grade(name: &str, scored: &ScoredRows<'_>, labels: &[String], asked: &GradeRequest) -> Option<Grade> {
    let outcomes = scored.once();
    if outcomes.good.is_empty() || outcomes.bad.is_empty() {
        return None;
    }
    let (auc, ks) = scored.separation();
    let (within_dates, dates) = scored.within_dates();
    let (ranges, tenths) = (bands::ranges(scored, &outcomes), bands::tenths(scored, &outcomes));
    let moments = || scored.rows.iter().map(|row| row.as_of);
    Some(Grade {
        model: name.to_owned(),
        verdict: String::new(),
        count: outcomes.count(),
        bad: outcomes.bad.count(),
        known: 0,
        clusters: scored.clusters.count() as u64,
        largest_cluster: scored.clusters.largest() as u64,
        clusters_found: clusters_found(&scored.rows).to_owned(),
        resamples: scored.clusters.resamples() as u64,
        from: moments().min().unwrap_or(0),
        to: moments().max().unwrap_or(0),
        auc,
        within_dates,
        dates,
        ks,
        baselines: beside::baselines(scored),
        falls: bands::falls(&ranges),
        ranges,
        claims: Vec::new(),
        tenths,
        factors: power::factors(scored, labels),
        figures: power::figures(scored),
        months: segments::months(scored),
        segments: segments::segments(scored, asked),
        held_out: held_out::held_out(scored),
        external: asked.external.as_deref().and_then(|column| beside::external(scored, column)),
        checks: Vec::new(),
        cut_off: asked.cut_off.map(|score| cut_off(&outcomes, score)),
        curve: curve(&outcomes),
    })
}

/// What said which records belong together, for people. The weakest of them.
fn clusters_found(rows: &[&GradedRow]) -> &'static str {
    match rows.iter().map(|row| row.clustered).max() {
        Some(Clustered::Column) | None => "by the column cluster",
        Some(Clustered::Id) => "by the ids, because the column cluster is missing",
        Some(Clustered::DatedId) => "by the ids without their dates, because the column cluster is missing",
        Some(Clustered::Alone) => "records without a cluster and an id count as wallets",
    }
}

/// The steps of the curve, in points.
const STEP: usize = 20;

/// What a lender takes at each cut-off.
fn curve(outcomes: &Outcomes) -> Vec<CutOff> {
    let scores = (Score::MIN.get()..=Score::MAX.get()).step_by(STEP).filter_map(Score::new);
    scores.map(|score| cut_off(outcomes, score)).collect()
}

fn cut_off(outcomes: &Outcomes, score: Score) -> CutOff {
    let accepted = bands::counts(outcomes, |given| given >= score.get());
    let refused_bad = outcomes.bad.count() - accepted.bad;
    CutOff { score, accepted: accepted.all, accepted_bad: accepted.bad, refused_bad }
}

/// What the figures show, and no more: the verdict never praises a model whose AUC may be chance, and it names what
/// speaks against it.
fn verdict(grade: &Grade) -> String {
    let mut words = capital(&judged(grade));
    if segments::is_in_sample(&grade.segments) {
        words += " No record is later than its fit.";
    }
    let better = grade.baselines.iter().find(|baseline| {
        let interval = baseline.beside.as_ref().and_then(|beside| beside.fairest().difference.interval);
        interval.is_some_and(|interval| interval.high < 0.0)
    });
    if let Some(baseline) = better {
        words += &format!(" {} alone ranks better.", baseline.title);
    }
    match claims::kept(&grade.claims) {
        Some(ClaimsResult::No(why)) => words += &format!(" What it claims does not hold: {why}."),
        Some(ClaimsResult::Unknown(why)) => words += &format!(" What it claims is not shown to hold: {why}."),
        Some(ClaimsResult::Yes) | None => {}
    }
    if let Some(cut) = grade.cut_off.as_ref().filter(|cut| cut.accepted == 0) {
        words += &format!(" From {} on it accepts nobody.", cut.score);
    }
    if !grade.checks.iter().all(|check| check.passed) {
        words += " It does not keep the bounds that were stated.";
    }
    words
}

fn judged(grade: &Grade) -> String {
    let name = &grade.model;
    let Some((auc, interval)) = grade.auc.value.zip(grade.auc.interval) else {
        return format!("{name} cannot be judged: all outcomes are of one wallet.");
    };
    let within = grade.within_dates.value.map(|within| format!("; {within:.3} within dates")).unwrap_or_default();
    let figure = format!("AUC {auc:.3}, {}{within}", ends(Some(interval), 3));
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
