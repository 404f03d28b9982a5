//! Another score, which is a column of the file, beside the model on the same records.

use serde::Serialize;

use super::{Estimate, Scored};
use crate::graded::{Row, outcomes};
use assay_domain::Score;

/// The other score beside the model, on the records that have both.
#[derive(Debug, Clone, Serialize)]
pub struct External {
    pub column: String,
    pub count: u64,
    pub auc: Estimate,
    /// The AUC of the model on the same records.
    pub model: Estimate,
    /// The AUC of the model minus the AUC of the other score.
    pub difference: Estimate,
}

/// `None` where the records with the column have no AUC: no record has it, or all outcomes are equal.
pub fn external(scored: &Scored<'_>, column: &str) -> Option<External> {
    let rows: Vec<_> = scored.rows.iter().copied().filter(|row| row.external.is_some()).collect();
    let both = Scored::of(rows, scored.index);
    let places = places(&both.rows);
    let figures = |weights: &[u64]| {
        let other = outcomes(&both.rows, weights, places.iter().copied()).auc();
        let own = both.outcomes(weights).auc();
        vec![other, own, own.zip(other).map(|(own, other)| own - other)]
    };
    let mut found = both.clusters.estimates(figures).into_iter();
    let mut next = || found.next().unwrap_or_default();
    let (auc, model, difference) = (next(), next(), next());
    auc.value?;
    Some(External { column: column.to_owned(), count: both.rows.len() as u64, auc, model, difference })
}

/// A score for each value, in the order of the values. Up to 701 different values get different scores.
fn places(rows: &[&Row]) -> Vec<Option<Score>> {
    let mut values: Vec<f64> = rows.iter().filter_map(|row| row.external).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    let steps = (Score::MAX.get() - Score::MIN.get()) as usize;
    let last = values.len().saturating_sub(1).max(steps);
    let place = |value: f64| {
        let at = values.partition_point(|one| *one < value);
        Score::new(Score::MIN.get() + u32::try_from(at * steps / last.max(1)).ok()?)
    };
    rows.iter().map(|row| row.external.and_then(place)).collect()
}
