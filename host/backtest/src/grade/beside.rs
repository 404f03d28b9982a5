//! A model beside something simpler on the same records: a figure of the features without any fit, or a column of the
//! file with another score.

use serde::Serialize;

use super::{Estimate, ScoredRows, order::Order};
use crate::graded::GradedRow;

/// The AUC of a value and of the model on the records that have both.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedValue {
    pub count: u64,
    pub bad: u64,
    /// Over all dates together.
    #[serde(flatten)]
    pub pooled: Paired,
    /// Pairs of one date only; `None` if no date has a good and a bad record.
    pub within: Option<Paired>,
}

/// Two AUCs, and that of the model minus the other, on the same resamples of clusters.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Paired {
    pub auc: Estimate,
    pub model: Estimate,
    pub difference: Estimate,
}

impl ComparedValue {
    /// The comparison within dates, or over all dates if there is none.
    pub fn fairest(&self) -> Paired {
        self.within.unwrap_or(self.pooled)
    }
}

/// A score that anybody has without a model.
#[derive(Debug, Clone, Serialize)]
pub struct Baseline {
    /// As a bound names it.
    pub name: &'static str,
    pub title: &'static str,
    /// `None` if it cannot rank the records of this file: none has it, or all have the same.
    pub beside: Option<ComparedValue>,
}

/// A baseline: its name in bounds, its title, and the value, higher for less risk.
type Simple = (&'static str, &'static str, fn(&GradedRow) -> Option<f64>);

/// The baselines. A wallet that owes nothing, or was never liquidated, has the best value.
const BASELINES: [Simple; 3] = [
    ("health_factor", "1 / health factor", |row| row.standing.load().map(|load| -load)),
    ("utilisation", "Utilisation", |row| row.standing.utilisation().map(|share| -share)),
    ("last_liquidation", "Days since the last liquidation", |row| {
        Some(row.standing.liquidation_days.unwrap_or(f64::INFINITY))
    }),
];

/// The names of the baselines, for bounds.
pub(crate) fn names() -> [&'static str; 3] {
    BASELINES.map(|(name, _, _)| name)
}

pub(crate) fn baselines(scored: &ScoredRows<'_>) -> Vec<Baseline> {
    BASELINES.map(|(name, title, value)| Baseline { name, title, beside: beside(scored, value) }).into()
}

/// `None` if `value` cannot rank the records: it is on none, it is the same on all, or all outcomes are equal.
pub(crate) fn beside(scored: &ScoredRows<'_>, value: impl Fn(&GradedRow) -> Option<f64>) -> Option<ComparedValue> {
    let rows: Vec<_> = scored.rows.iter().copied().filter(|row| value(row).is_some()).collect();
    let both = ScoredRows::of(rows, scored.index);
    let score = |row: &GradedRow| row.score(scored.index).map(|score| f64::from(score.get()));
    let rows = &both.rows;
    let pooled = [Order::pooled(rows, &value), Order::pooled(rows, score)];
    let [other, _] = &pooled;
    if !other.varies() {
        return None;
    }
    let within = [Order::within_dates(rows, &value), Order::within_dates(rows, score)];
    let figures = |weights: &[u64]| {
        let of = |[other, own]: &[Order; 2]| {
            let (other, own) = (other.auc(rows, weights), own.auc(rows, weights));
            [other, own, own.zip(other).map(|(own, other)| own - other)]
        };
        [of(&pooled), of(&within)].concat()
    };
    let found = both.clusters.estimates(figures);
    let at = |place: usize| found.get(place).copied().unwrap_or_default();
    let paired = |first: usize| Paired { auc: at(first), model: at(first + 1), difference: at(first + 2) };
    let (pooled, within) = (paired(0), paired(3));
    pooled.auc.value?;
    Some(ComparedValue {
        count: rows.len() as u64,
        bad: rows.iter().filter(|row| row.bad).count() as u64,
        pooled,
        within: within.auc.value.map(|_| within),
    })
}

/// The other score beside the model, on the records that have both.
#[derive(Debug, Clone, Serialize)]
pub struct ExternalScore {
    pub column: String,
    #[serde(flatten)]
    pub beside: ComparedValue,
}

/// `None` if the records with the column have no AUC: no record has it, or all outcomes are equal.
pub(crate) fn external(scored: &ScoredRows<'_>, column: &str) -> Option<ExternalScore> {
    Some(ExternalScore { column: column.to_owned(), beside: beside(scored, |row| row.external)? })
}
