//! Bad rates by range of the score and by tenth of the sample.

use serde::Serialize;

use super::Scored;
use assay_domain::{
    Range, Score,
    stats::{DecileRow, Interval, Outcomes, wilson},
};

/// Records below which a range says nothing.
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
}

/// One tenth, with the interval over clusters and the lift: its bad rate over that of the sample.
#[derive(Debug, Clone, Serialize)]
pub struct Tenth {
    #[serde(flatten)]
    pub row: DecileRow,
    pub clustered: Option<Interval>,
    pub lift: Option<f64>,
}

const RANGES: [(Range, &str); 5] = [
    (Range::Low, "low"),
    (Range::Fair, "fair"),
    (Range::Good, "good"),
    (Range::VeryGood, "very good"),
    (Range::Excellent, "excellent"),
];

/// Scores, and bad ones, of those that `within` accepts.
fn counts(outcomes: &Outcomes, within: impl Fn(u32) -> bool) -> (u64, u64) {
    let of = |scores: &assay_domain::stats::Histogram| {
        scores.given().filter(|(score, _)| within(*score)).map(|(_, count)| count).sum::<u64>()
    };
    let bad = of(&outcomes.bad);
    (of(&outcomes.good) + bad, bad)
}

fn rate((count, bad): (u64, u64)) -> Option<f64> {
    (count > 0).then(|| bad as f64 / count as f64)
}

/// Where no wallet repeats, Wilson's interval is exact enough also at a rate of 0; a bootstrap has none there.
fn interval(scored: &Scored<'_>, counts: (u64, u64), drawn: Option<Interval>) -> Option<Interval> {
    let (count, bad) = counts;
    let alone = scored.clusters.largest() <= 1;
    match count {
        0 => None,
        _ if alone || bad == 0 || bad == count => Some(wilson(bad, count)),
        _ => drawn,
    }
}

pub fn ranges(scored: &Scored<'_>) -> Vec<Band> {
    let within = |range: Range| move |score: u32| Score::new(score).is_some_and(|score| score.range() == range);
    let drawn = scored.clusters.intervals(|weights| {
        let outcomes = scored.outcomes(weights);
        RANGES.iter().map(|(range, _)| rate(counts(&outcomes, within(*range)))).collect()
    });
    let outcomes = scored.once();
    let band = |((range, name), drawn): (&(Range, &'static str), Option<Interval>)| {
        let (count, bad) = counts(&outcomes, within(*range));
        let interval = interval(scored, (count, bad), drawn);
        Band { range: name, count, bad, rate: rate((count, bad)), interval, enough: count >= ENOUGH }
    };
    RANGES.iter().zip(drawn).map(band).collect()
}

/// Whether each range with enough records has a lower bad rate than the one before; `None` with fewer than two such.
pub fn falls(ranges: &[Band]) -> Option<bool> {
    let rates: Vec<_> = ranges.iter().filter(|band| band.enough).filter_map(|band| band.rate).collect();
    (rates.len() > 1).then(|| rates.windows(2).all(|pair| matches!(pair, [before, after] if after < before)))
}

pub fn tenths(scored: &Scored<'_>) -> Vec<Tenth> {
    let outcomes = scored.once();
    let (rows, whole) = (outcomes.deciles(), outcomes.bad_rate());
    let drawn = scored.clusters.intervals(|weights| {
        let outcomes = scored.outcomes(weights);
        rows.iter().map(|row| rate(counts(&outcomes, |score| (row.from..=row.to).contains(&score)))).collect()
    });
    rows.into_iter()
        .zip(drawn)
        .map(|(row, drawn)| Tenth {
            clustered: interval(scored, (row.count, row.bad), drawn),
            lift: whole.map(|whole| row.bad_rate / whole),
            row,
        })
        .collect()
}
