//! Scorecards: a table of bins for each feature, with points or weights of evidence.

use toml::Spanned;

use crate::{
    Fault,
    declaration::{Direction, Feature, File},
};

/// The edges of the bins of a feature, and what each adds; the last cell is for an absent figure.
pub struct Row {
    pub edges: Vec<f64>,
    pub cells: Vec<f64>,
}

/// The most bins of one feature.
const BINS: usize = 1000;

/// # Errors
/// What is wrong with the first row.
pub fn rows(file: &File) -> Result<Vec<Row>, Fault> {
    file.declared.features.iter().map(|feature| row(file, feature)).collect()
}

fn row(file: &File, feature: &Feature) -> Result<Row, Fault> {
    let Some(edges) = &feature.edges else {
        let message = "without `trees` the model is a scorecard: give `edges`, and `points` or `woe` with `weight`";
        return Err(file.fault(&feature.name, message));
    };
    let (cells, weight) = match (&feature.points, &feature.woe) {
        (Some(points), None) => (points, 1.0),
        (None, Some(woe)) => (woe, feature.weight.unwrap_or(1.0)),
        _ => return Err(file.fault(&feature.name, "give `points` or `woe`, one of them")),
    };
    let rising =
        edges.get_ref().is_sorted_by(|low, high| low < high) && edges.get_ref().iter().all(|at| at.is_finite());
    if !rising {
        return Err(file.fault(edges, "edges are finite numbers, each above the one before"));
    }
    let bins = edges.get_ref().len() + 1;
    if bins > BINS || cells.get_ref().len() != bins {
        let message =
            format!("{} edges make {bins} bins (at most {BINS}), and {} are given", bins - 1, cells.get_ref().len());
        return Err(file.fault(cells, message));
    }
    if !cells.get_ref().iter().chain([&weight, &feature.absent]).all(|number| number.is_finite()) {
        return Err(file.fault(cells, "each bin needs a finite number"));
    }
    let cells = cells.get_ref().iter().chain([&feature.absent]).map(|cell| cell * weight).collect();
    Ok(Row { edges: edges.get_ref().clone(), cells })
}

/// Whether the score never moves against the claim from bin to bin. An absent figure is no part of it.
pub fn holds(row: &Row, direction: Direction, per_margin: f64) -> bool {
    let bins = row.cells.get(..row.cells.len().saturating_sub(1)).unwrap_or_default();
    let rising = (direction == Direction::Rising) == (per_margin >= 0.0);
    bins.is_sorted_by(|low, high| if rising { low <= high } else { low >= high })
}

/// Refuses the cells of a scorecard beside trees.
pub fn none(file: &File) -> Result<(), Fault> {
    let given = |feature: &Feature| -> Option<Fault> {
        let wrong = |value: &Spanned<Vec<f64>>| file.fault(value, "with `trees` a feature has no bins");
        feature.edges.as_ref().or(feature.points.as_ref()).or(feature.woe.as_ref()).map(wrong)
    };
    file.declared.features.iter().find_map(given).map_or(Ok(()), Err)
}
