//! The scores of each week compared with those of the first: a shift shows that the wallets have changed, or the data
//! that is read.

use std::collections::BTreeMap;

use crate::{Observations, WEEK};
use assay_domain::stats::{Edges, Histogram, psi};

/// Bins of the stability index, each with a tenth of the first week's scores.
const BINS: u32 = 10;
/// With fewer scores in one of the two weeks the index is chance: without any drift its mean is 0.53 at 50 scores a
/// week, 0.09 at 200 and 0.04 at 500.
pub(crate) const ENOUGH: u64 = 500;

/// The scores of one week.
#[derive(Debug, Clone, PartialEq)]
pub struct Week {
    /// Its first moment, in Unix seconds.
    pub from: u64,
    pub scores: u64,
    /// The share of the scored wallets whose scores are kept.
    pub share: f64,
    pub mean: Option<f64>,
    /// The population stability index against the first week; `None` for that one and with fewer than 500 scores.
    pub psi: Option<f64>,
}

/// The weeks with a score, the oldest first.
pub(super) fn weeks(observed: &Observations) -> Vec<Week> {
    let mut by_week = BTreeMap::<u64, Histogram>::new();
    for found in &observed.scores {
        by_week.entry(found.as_of / WEEK).or_default().add(found.score);
    }
    // The reference is the first week that has enough to be one.
    let reference = by_week.iter().find(|(_, scores)| scores.count() >= ENOUGH);
    let reference = reference.map(|(week, scores)| {
        let edges = Edges::quantiles(scores, BINS);
        (*week, edges.counts(scores), edges)
    });
    let shift = |week: u64, scores: &Histogram| {
        let (first, expected, edges) = reference.as_ref()?;
        let is_later = week > *first && scores.count() >= ENOUGH;
        is_later.then(|| psi(expected, &edges.counts(scores))).flatten()
    };
    by_week
        .iter()
        .map(|(week, scores)| Week {
            from: week * WEEK,
            scores: scores.count(),
            share: 0.5_f64.powi(observed.halvings.get(week).map_or(0, |halvings| halvings.cast_signed())),
            mean: scores.mean(),
            psi: shift(*week, scores),
        })
        .collect()
}

/// The index of the newest week that has one.
pub(super) fn newest(weeks: &[Week]) -> Option<f64> {
    weeks.iter().rev().find_map(|week| week.psi)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;
    use assay_domain::{Address, Score, Standing};

    #[test]
    fn a_week_is_compared_with_the_first_that_has_enough_scores() {
        let score = |week: u64, n: u64, score: u64| Observation {
            address: Address::left_padding_from(&n.to_be_bytes()),
            as_of: week * WEEK + n,
            score: Score::new(u32::try_from(score).unwrap()).unwrap(),
            standing: Standing::default(),
            is_outcome_hidden: false,
        };
        let week = |week, count: u64, from: u64| (0..count).map(move |n| score(week, n, from + n));
        let scores = week(1, 499, 300).chain(week(2, 500, 400)).chain(week(4, 500, 400)).chain(week(5, 500, 500));
        let found = weeks(&Observations { scores: scores.collect(), halvings: [(4, 2)].into() });
        let psis: Vec<_> = found.iter().map(|week| (week.from / WEEK, week.scores, week.psi)).collect();
        assert_eq!(psis[..3], [(1, 499, None), (2, 500, None), (4, 500, Some(0.0))]);
        assert!(newest(&found).unwrap() > 0.25, "{found:?}");
        assert_eq!(found.iter().map(|week| week.share).collect::<Vec<_>>(), [1.0, 1.0, 0.25, 1.0]);
    }
}
