//! A model by month and by other dimensions: bad rate, AUC, mean score, and the shift of the scores.

use std::{cmp::Reverse, collections::BTreeMap};

use serde::Serialize;

use super::{Estimate, GradeRequest, ScoredRows};
use crate::{
    graded::{By, GradedRow},
    verdict::ENOUGH_BAD,
    words::day,
};
use assay_domain::stats::{Edges, psi};

/// The most segments of a dimension that are shown. They are the largest.
const MOST: usize = 60;

/// The dimension of the dates through and after those of the fit.
const FIT: &str = "dates";
const AFTER: &str = "after";

/// The rows of one month, chain, protocol or value of a column.
#[derive(Debug, Clone, Serialize)]
pub struct GradeSegment {
    pub by: String,
    pub name: String,
    pub count: u64,
    pub bad: u64,
    pub rate: Option<f64>,
    /// `None` with too few bad or too few good outcomes.
    pub auc: Option<Estimate>,
    pub mean_score: Option<f64>,
    /// The stability index of the scores, against the first month or against all rows.
    pub psi: Option<f64>,
}

/// The segments by month of `as_of`, compared with the first month.
pub(crate) fn months(scored: &ScoredRows<'_>) -> Vec<GradeSegment> {
    let mut found: BTreeMap<String, Vec<&GradedRow>> = BTreeMap::new();
    for row in &scored.rows {
        found.entry(month(row.as_of)).or_default().push(row);
    }
    let Some(first) = found.values().next().cloned() else { return Vec::new() };
    let reference = SegmentReference::of(&ScoredRows::of(first, scored.index));
    found.into_iter().map(|(name, rows)| segment("month", name, rows, &reference)).collect()
}

/// The segments before and after the last moment of the fit, and by each dimension, the largest first.
pub(crate) fn segments(scored: &ScoredRows<'_>, asked: &GradeRequest) -> Vec<GradeSegment> {
    let mut all = Vec::new();
    let reference = SegmentReference::of(scored);
    if let Some(last) = asked.fitted_through {
        let (fitted, after): (Vec<&GradedRow>, Vec<&GradedRow>) = scored.rows.iter().partition(|row| row.as_of <= last);
        for (name, rows) in [("through", fitted), (AFTER, after)] {
            all.push(segment(FIT, format!("{name} {}", day(last)), rows, &reference));
        }
    }
    for (index, dimension) in asked.by.iter().enumerate() {
        let mut found: BTreeMap<&str, Vec<&GradedRow>> = BTreeMap::new();
        for row in &scored.rows {
            for (_, name) in row.segments.iter().filter(|(of, _)| *of == index) {
                found.entry(name).or_default().push(row);
            }
        }
        let by = match dimension {
            By::Chain => "chain",
            By::Protocol => "protocol",
            By::Column(name) => name,
        };
        let mut largest: Vec<_> = found.into_iter().collect();
        largest.sort_by_key(|(_, rows)| Reverse(rows.len()));
        largest.truncate(MOST);
        all.extend(largest.into_iter().map(|(name, rows)| segment(by, name.to_owned(), rows, &reference)));
    }
    all
}

/// Whether the dates of the fit are known, and no row is later.
pub(crate) fn is_in_sample(segments: &[GradeSegment]) -> bool {
    segments.iter().any(|segment| segment.by == FIT && segment.name.starts_with(AFTER) && segment.count == 0)
}

/// The rows that segments are compared with.
struct SegmentReference {
    /// The index of the model.
    index: usize,
    edges: Edges,
    /// The scores between the edges.
    counts: Vec<u64>,
}

impl SegmentReference {
    fn of(scored: &ScoredRows<'_>) -> Self {
        let scores = scored.once().scores();
        let edges = Edges::quantiles(&scores, 10);
        Self { index: scored.index, counts: edges.counts(&scores), edges }
    }
}

fn segment(by: &str, name: String, rows: Vec<&GradedRow>, reference: &SegmentReference) -> GradeSegment {
    let scored = ScoredRows::of(rows, reference.index);
    let outcomes = scored.once();
    let enough = outcomes.bad.count() >= ENOUGH_BAD && outcomes.good.count() >= ENOUGH_BAD;
    let scores = outcomes.scores();
    GradeSegment {
        by: by.to_owned(),
        name,
        count: outcomes.count(),
        bad: outcomes.bad.count(),
        rate: outcomes.bad_rate(),
        auc: enough.then(|| scored.separation().0),
        mean_score: scores.mean(),
        psi: psi(&reference.counts, &reference.edges.counts(&scores)),
    }
}

/// `2025-03`.
fn month(seconds: u64) -> String {
    day(seconds).chars().take(7).collect()
}
