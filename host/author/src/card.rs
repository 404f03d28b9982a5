//! Scorecards: a table of bins for each feature, with points or weights of evidence, or a weight for its figure.

use tables::network::PLAIN;

use crate::{
    Fault,
    declaration::{Feature, File},
    language::Expression,
    network::{Layer, Network},
    predicts::Predicts,
};

/// The bins of a feature: their edges, and what each bin adds. The last cell is for an absent figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub edges: Vec<f64>,
    pub cells: Vec<f64>,
}

/// The most bins of one feature.
pub(crate) const BINS: usize = 1000;

/// The rows of the bins, and the linear terms; none if each feature has bins.
///
/// # Errors
/// The first problem of a row or term.
pub(crate) fn card(file: &File, expressions: &[Expression]) -> Result<(Vec<Row>, Option<Network>), Fault> {
    let features = &file.declared.features;
    let rows: Vec<Row> = features.iter().map(|feature| row(file, feature)).collect::<Result<_, _>>()?;
    let terms: Vec<(usize, f64)> = features
        .iter()
        .enumerate()
        .filter(|(_, feature)| feature.edges.is_none())
        .filter_map(|(at, feature)| Some((at, feature.weight?)))
        .collect();
    if terms.is_empty() {
        return Ok((rows, None));
    }
    let columns = terms.iter().map(|(at, _)| Network::figure(*at)).collect();
    let layer = Layer {
        weights: vec![terms.iter().map(|(_, weight)| *weight).collect()],
        biases: vec![0.0],
        activation: PLAIN,
    };
    let mut network = Network { columns, layers: vec![layer], single: false, predicts: Predicts::LOG_ODDS };
    network.fill(file, expressions)?;
    Ok((rows, Some(network)))
}

fn row(file: &File, feature: &Feature) -> Result<Row, Fault> {
    let Some(edges) = &feature.edges else {
        return match (&feature.points, &feature.woe, feature.weight) {
            (None, None, Some(weight)) if weight.is_finite() => Ok(Row { edges: Vec::new(), cells: vec![0.0; 2] }),
            _ => {
                let message = "without `trained` the model is a scorecard: give `edges`, and `points` or `woe` with \
                               `weight`; or only `weight`, a finite number, for a linear term";
                Err(file.fault(&feature.name, message))
            }
        };
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
    let absent = feature.absent.as_ref().map_or(0.0, |absent| *absent.get_ref());
    if !cells.get_ref().iter().chain([&weight, &absent]).all(|number| number.is_finite()) {
        return Err(file.fault(cells, "each bin needs a finite number"));
    }
    let cells = cells.get_ref().iter().chain([&absent]).map(|cell| cell * weight).collect();
    Ok(Row { edges: edges.get_ref().clone(), cells })
}

/// Whether the bins never fall or, without `rising`, never rise from one to the next. The cell of an absent figure
/// does not count.
pub(crate) fn holds(row: &Row, rising: bool) -> bool {
    let bins = row.cells.get(..row.cells.len().saturating_sub(1)).unwrap_or_default();
    bins.is_sorted_by(|low, high| if rising { low <= high } else { low >= high })
}

/// Refuses what only a trained file needs.
pub(crate) fn without_trained(file: &File) -> Result<(), Fault> {
    match &file.declared.score.predicts {
        Some(said) => Err(file.fault(said, "it belongs to `trained`, and a scorecard has none")),
        None => Ok(()),
    }
}

/// Refuses bins and weights in a declaration that names a file which has them; `key` is its name.
pub(crate) fn none(file: &File, key: &str) -> Result<(), Fault> {
    let wrong = |feature: &Feature| {
        let given = feature.edges.is_some() || feature.points.is_some() || feature.woe.is_some();
        let message = format!("with `{key}` a feature has no bins and no weight");
        (given || feature.weight.is_some()).then(|| file.fault(&feature.name, message))
    };
    file.declared.features.iter().find_map(wrong).map_or(Ok(()), Err)
}
