//! The same figures by month and by other dimensions, and how the scores shift from month to month.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{ENOUGH_BAD, Estimate, Scored};
use crate::graded::{By, Row};
use assay_domain::stats::{Edges, psi};

/// The most segments that are shown, the largest ones.
const MOST: usize = 60;

/// The rows of one month, chain, protocol or value of a column.
#[derive(Debug, Clone, Serialize)]
pub struct Segment {
    pub by: String,
    pub name: String,
    pub count: u64,
    pub bad: u64,
    pub rate: Option<f64>,
    /// `None` with too few bad or good outcomes.
    pub auc: Option<Estimate>,
    pub mean_score: Option<f64>,
    /// Of the scores, against the first month or against all rows.
    pub psi: Option<f64>,
}

/// By the month of `as_of`, with the stability index against the first one.
pub fn months(scored: &Scored<'_>) -> Vec<Segment> {
    let mut found: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &scored.rows {
        found.entry(month(row.as_of)).or_default().push(row);
    }
    let Some(first) = found.values().next().cloned() else { return Vec::new() };
    let reference = Scored::of(first, scored.index);
    found.into_iter().map(|(name, rows)| segment("month", name, rows, &reference)).collect()
}

/// By each dimension, the largest first.
pub fn segments(scored: &Scored<'_>, by: &[By]) -> Vec<Segment> {
    let mut all = Vec::new();
    let reference = Scored::of(scored.rows.clone(), scored.index);
    for (index, dimension) in by.iter().enumerate() {
        let mut found: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
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
        let mut of_it: Vec<_> =
            found.into_iter().map(|(name, rows)| segment(by, name.to_owned(), rows, &reference)).collect();
        of_it.sort_by_key(|segment| std::cmp::Reverse(segment.count));
        of_it.truncate(MOST);
        all.extend(of_it);
    }
    all
}

fn segment(by: &str, name: String, rows: Vec<&Row>, reference: &Scored<'_>) -> Segment {
    let scored = Scored::of(rows, reference.index);
    let outcomes = scored.once();
    let enough = outcomes.bad.count() >= ENOUGH_BAD && outcomes.good.count() >= ENOUGH_BAD;
    let (expected, actual) = (reference.once().scores(), outcomes.scores());
    let edges = Edges::quantiles(&expected, 10);
    Segment {
        by: by.to_owned(),
        name,
        count: outcomes.count(),
        bad: outcomes.bad.count(),
        rate: outcomes.bad_rate(),
        auc: enough.then(|| scored.separation().0),
        mean_score: actual.mean(),
        psi: psi(&edges.counts(&expected), &edges.counts(&actual)),
    }
}

/// `2025-03`.
fn month(seconds: u64) -> String {
    day(seconds).chars().take(7).collect()
}

/// `2025-03-01`; the seconds where they are no date.
pub fn day(seconds: u64) -> String {
    let date = i64::try_from(seconds).ok().and_then(|seconds| chrono::DateTime::from_timestamp(seconds, 0));
    date.map_or_else(|| seconds.to_string(), |date| date.format("%Y-%m-%d").to_string())
}
