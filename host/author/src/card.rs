//! Scorecards: a table of bins for each feature, with points or weights of evidence.

use toml::Spanned;

use crate::{
    Fault,
    declaration::{Feature, File},
};

/// The bins of a feature: their edges, and what each bin adds. The last cell is for an absent figure.
pub struct Row {
    pub edges: Vec<f64>,
    pub cells: Vec<f64>,
}

/// The most bins of one feature.
const BINS: usize = 1000;

/// # Errors
/// The first problem of a row.
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

/// Whether the bins never fall or, without `rising`, never rise from one to the next. The cell of an absent figure
/// does not count.
pub fn holds(row: &Row, rising: bool) -> bool {
    let bins = row.cells.get(..row.cells.len().saturating_sub(1)).unwrap_or_default();
    bins.is_sorted_by(|low, high| if rising { low <= high } else { low >= high })
}

/// Refuses what only trees need.
pub fn without_trees(file: &File) -> Result<(), Fault> {
    match &file.declared.score.trees_predict {
        Some(said) => Err(file.fault(said, "it belongs to `trees`, and a scorecard has none")),
        None => Ok(()),
    }
}

/// Refuses bins in a declaration that names trees.
pub fn none(file: &File) -> Result<(), Fault> {
    let given = |feature: &Feature| -> Option<Fault> {
        let wrong = |value: &Spanned<Vec<f64>>| file.fault(value, "with `trees` a feature has no bins");
        feature.edges.as_ref().or(feature.points.as_ref()).or(feature.woe.as_ref()).map(wrong)
    };
    file.declared.features.iter().find_map(given).map_or(Ok(()), Err)
}
