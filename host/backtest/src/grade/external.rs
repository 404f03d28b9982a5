//! Another score, a column of the file, on the same records as the model.

use serde::Serialize;

use super::{Estimate, Scored};
use crate::graded::Row;
use assay_domain::{Score, stats::Outcomes};

/// The other score beside the model, on the records that have both.
#[derive(Debug, Clone, Serialize)]
pub struct External {
    pub column: String,
    pub count: u64,
    pub auc: Estimate,
    /// The model's on the same records.
    pub model: Estimate,
    /// The model's minus the other's.
    pub difference: Estimate,
}

/// `None` where no record with an outcome has the column.
pub fn external(scored: &Scored<'_>, column: &str) -> Option<External> {
    let rows: Vec<_> = scored.rows.iter().copied().filter(|row| row.external.is_some()).collect();
    let both = Scored::of(rows, scored.index);
    let places = places(&both.rows);
    let figures = |weights: &[u64]| {
        let (other, own) = (other(&both.rows, &places, weights).auc(), both.outcomes(weights).auc());
        vec![other, own, own.zip(other).map(|(own, other)| own - other)]
    };
    let values = figures(&vec![1; both.rows.len()]);
    let intervals = both.clusters.intervals(figures);
    let at = |index: usize| Estimate {
        value: values.get(index).copied().flatten(),
        interval: intervals.get(index).copied().flatten(),
    };
    at(0).value?;
    Some(External {
        column: column.to_owned(),
        count: both.rows.len() as u64,
        auc: at(0),
        model: at(1),
        difference: at(2),
    })
}

/// Each value's place on the scale of scores, in its order: exact up to 701 different values.
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

fn other(rows: &[&Row], places: &[Option<Score>], weights: &[u64]) -> Outcomes {
    let mut found = Outcomes::default();
    for ((row, place), weight) in rows.iter().zip(places).zip(weights) {
        if let Some(place) = place {
            if row.bad { &mut found.bad } else { &mut found.good }.add_many(*place, *weight);
        }
    }
    found
}
