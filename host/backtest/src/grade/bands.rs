//! Bad rates by range of the score and by tenth of the sample.

use serde::Serialize;

use super::{Estimate, Scored};
use crate::words::RANGES;
use assay_domain::{
    Rate, Score,
    stats::{DecileRow, Histogram, Interval, Outcomes, wilson},
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
    /// What the model itself says of the range.
    pub claimed: Option<Claimed>,
}

/// A rate that a model claims, with its interval.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Claimed {
    pub low: f64,
    pub estimate: f64,
    pub high: f64,
    /// Whether the claimed and the observed interval have a rate in common; `None` where too few records are in the range.
    pub agrees: Option<bool>,
}

/// One tenth, with the interval over clusters and the lift: its bad rate divided by the bad rate of the sample.
#[derive(Debug, Clone, Serialize)]
pub struct Tenth {
    #[serde(flatten)]
    pub row: DecileRow,
    pub clustered: Option<Interval>,
    pub lift: Option<f64>,
}

/// How many scores `within` accepts, and how many of them had a bad outcome.
pub fn counts(outcomes: &Outcomes, within: impl Fn(u32) -> bool) -> (u64, u64) {
    let of =
        |scores: &Histogram| scores.given().filter(|(score, _)| within(*score)).map(|(_, count)| count).sum::<u64>();
    let bad = of(&outcomes.bad);
    (of(&outcomes.good) + bad, bad)
}

fn rate((count, bad): (u64, u64)) -> Option<f64> {
    (count > 0).then(|| bad as f64 / count as f64)
}

/// The interval of the bad rate for each test in `within`. It is drawn over clusters. Where no wallet repeats, Wilson's
/// interval is as exact. At a rate of 0 or 1 only Wilson's has a width.
fn intervals<W: Fn(u32) -> bool>(scored: &Scored<'_>, outcomes: &Outcomes, within: &[W]) -> Vec<Option<Interval>> {
    let wilson = |(count, bad): (u64, u64)| (count > 0).then(|| wilson(bad, count));
    let counted = within.iter().map(|within| counts(outcomes, within));
    if scored.clusters.largest() <= 1 {
        return counted.map(wilson).collect();
    }
    let drawn = scored.clusters.estimates(|weights| {
        let outcomes = scored.outcomes(weights);
        within.iter().map(|within| rate(counts(&outcomes, within))).collect()
    });
    let interval = |((count, bad), drawn): ((u64, u64), Estimate)| match bad == 0 || bad == count {
        true => wilson((count, bad)),
        false => drawn.interval,
    };
    counted.zip(drawn).map(interval).collect()
}

/// Puts what a model claims beside what was observed.
pub fn claim(bands: &mut [Band], rates: &[Rate]) {
    for (band, (from, _)) in bands.iter_mut().zip(RANGES) {
        let range = Score::new(from).map(Score::range);
        let Some(rate) = rates.iter().find(|rate| Some(rate.range) == range) else { continue };
        let observed = band.interval.filter(|_| band.enough);
        let agrees = observed.map(|observed| observed.low <= rate.high && rate.low <= observed.high);
        band.claimed = Some(Claimed { low: rate.low, estimate: rate.estimate, high: rate.high, agrees });
    }
}

pub fn ranges(scored: &Scored<'_>, outcomes: &Outcomes) -> Vec<Band> {
    let range = |score: u32| Score::new(score).map(Score::range);
    let within = RANGES.map(|(from, _)| move |score: u32| range(score) == range(from));
    let band = |(((_, name), within), interval): (((u32, &'static str), _), Option<Interval>)| {
        let (count, bad) = counts(outcomes, within);
        Band { range: name, count, bad, rate: rate((count, bad)), interval, enough: count >= ENOUGH, claimed: None }
    };
    RANGES.into_iter().zip(&within).zip(intervals(scored, outcomes, &within)).map(band).collect()
}

/// Whether the bad rate falls from each range with enough records to the next one; `None` where fewer than two have enough.
pub fn falls(ranges: &[Band]) -> Option<bool> {
    let rates: Vec<_> = ranges.iter().filter(|band| band.enough).filter_map(|band| band.rate).collect();
    (rates.len() > 1).then(|| rates.windows(2).all(|pair| matches!(pair, [before, after] if after < before)))
}

pub fn tenths(scored: &Scored<'_>, outcomes: &Outcomes) -> Vec<Tenth> {
    let (rows, whole) = (outcomes.deciles(), outcomes.bad_rate());
    let within: Vec<_> =
        rows.iter().map(|row| row.from..=row.to).map(|span| move |score| span.contains(&score)).collect();
    rows.into_iter()
        .zip(intervals(scored, outcomes, &within))
        .map(|(row, clustered)| Tenth { clustered, lift: whole.map(|whole| row.bad_rate / whole), row })
        .collect()
}
