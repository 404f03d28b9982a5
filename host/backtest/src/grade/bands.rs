//! Bad rates by range of the score and by tenth of the sample.

use std::collections::BTreeMap;

use serde::Serialize;

use super::ScoredRows;
use crate::{graded::GradedRow, words::RANGES};
use assay_domain::{
    Score,
    stats::{DecileRow, Histogram, Interval, Outcomes, clustered},
};

/// A range with fewer records says nothing.
const ENOUGH: u64 = 50;

/// One range.
#[derive(Debug, Clone, Serialize)]
pub struct Band {
    pub range: &'static str,
    pub count: u64,
    pub bad: u64,
    pub rate: Option<f64>,
    pub interval: Option<Interval>,
    pub enough: bool,
    /// Debt at the dates of the records, in dollars, and that of those who turned out bad.
    pub owed_usd: f64,
    pub owed_by_bad_usd: f64,
    /// The sum of the column `lost_usd` of the bad records; `None` if none has it.
    pub lost_usd: Option<f64>,
}

/// One tenth, with the interval over clusters and the lift: its bad rate divided by the bad rate of the sample.
#[derive(Debug, Clone, Serialize)]
pub struct Tenth {
    #[serde(flatten)]
    pub row: DecileRow,
    pub clustered: Option<Interval>,
    pub lift: Option<f64>,
}

/// The number of records, and of those with a bad outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BadCounts {
    pub all: u64,
    pub bad: u64,
}

/// The records whose scores `within` accepts.
pub(crate) fn counts(outcomes: &Outcomes, within: impl Fn(u32) -> bool) -> BadCounts {
    let of =
        |scores: &Histogram| scores.given().filter(|(score, _)| within(*score)).map(|(_, count)| count).sum::<u64>();
    let bad = of(&outcomes.bad);
    BadCounts { all: of(&outcomes.good) + bad, bad }
}

/// The interval of the bad rate over clusters, of which each row has one; `None` without rows.
pub(crate) fn interval(rows: impl Iterator<Item = (u64, bool)>) -> Option<Interval> {
    let mut clusters = BTreeMap::<u64, (u64, u64)>::new();
    for (cluster, is_bad) in rows {
        let (bad, count) = clusters.entry(cluster).or_default();
        (*bad, *count) = (*bad + u64::from(is_bad), *count + 1);
    }
    (!clusters.is_empty()).then(|| clustered(clusters.values().copied()))
}

/// The interval of the bad rate, for each entry of `within`.
fn intervals<W: Fn(u32) -> bool>(scored: &ScoredRows<'_>, within: &[W]) -> Vec<Option<Interval>> {
    let own = |within: &W| {
        let own = scored.rows.iter().filter(|row| row.score(scored.index).is_some_and(|score| within(score.get())));
        interval(own.map(|row| (row.cluster, row.bad)))
    };
    within.iter().map(own).collect()
}

pub(crate) fn ranges(scored: &ScoredRows<'_>, outcomes: &Outcomes) -> Vec<Band> {
    let range = |score: u32| Score::new(score).map(Score::range);
    let within = RANGES.map(|(from, _)| move |score: u32| range(score) == range(from));
    let intervals = intervals(scored, &within);
    let named = RANGES.into_iter().zip(&within).zip(intervals);
    named
        .map(|(((_, name), within), interval)| band(scored, name, counts(outcomes, within), interval, within))
        .collect()
}

fn band(
    scored: &ScoredRows<'_>,
    range: &'static str,
    counts: BadCounts,
    interval: Option<Interval>,
    within: impl Fn(u32) -> bool,
) -> Band {
    let is_own = |row: &&&GradedRow| row.score(scored.index).is_some_and(|score| within(score.get()));
    let own = || scored.rows.iter().filter(is_own);
    let of_bad = || own().filter(|row| row.bad);
    Band {
        range,
        count: counts.all,
        bad: counts.bad,
        rate: (counts.all > 0).then(|| counts.bad as f64 / counts.all as f64),
        interval,
        enough: counts.all >= ENOUGH,
        owed_usd: own().map(|row| row.standing.owed_usd).sum(),
        owed_by_bad_usd: of_bad().map(|row| row.standing.owed_usd).sum(),
        lost_usd: of_bad().filter_map(|row| row.lost_usd).reduce(|sum, usd| sum + usd),
    }
}

/// Whether the bad rate falls from each range with enough records to the next one, or stays at 0; `None` if fewer than
/// two have enough, or if none of them has a bad record.
pub(crate) fn falls(ranges: &[Band]) -> Option<bool> {
    let rates: Vec<_> = ranges.iter().filter(|band| band.enough).filter_map(|band| band.rate).collect();
    let is_fall = |pair: &[f64]| matches!(pair, [before, after] if after < before || *before == 0.0 && *after == 0.0);
    (rates.len() > 1 && rates.iter().any(|rate| *rate > 0.0)).then(|| rates.windows(2).all(is_fall))
}

pub(crate) fn tenths(scored: &ScoredRows<'_>, outcomes: &Outcomes) -> Vec<Tenth> {
    let (rows, whole) = (outcomes.deciles(), outcomes.bad_rate());
    let within: Vec<_> =
        rows.iter().map(|row| row.from..=row.to).map(|span| move |score| span.contains(&score)).collect();
    rows.into_iter()
        .zip(intervals(scored, &within))
        .map(|(row, clustered)| Tenth { clustered, lift: whole.map(|whole| row.bad_rate / whole), row })
        .collect()
}
