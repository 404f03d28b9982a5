//! Scorecards: a table of bins for each feature, with points or weights of evidence, or a weight for its figure.

use tables::network::PLAIN;

use crate::{
    FileFault,
    declaration::{DeclarationFile, Feature},
    language::Expression,
    network::{NetworkLayer, NeuralNetwork},
    predicts::Predicts,
};

/// The bins of a feature: their edges, and what each bin adds. The last cell is for an absent figure.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FeatureBins {
    pub edges: Vec<f64>,
    pub cells: Vec<f64>,
}

/// The most bins of one feature.
pub(crate) const BINS: usize = 1000;

/// The rows of the bins, and the linear terms; none if each feature has bins.
///
/// # Errors
/// The first problem of a row or term.
pub(crate) fn card(
    file: &DeclarationFile,
    expressions: &[Expression],
) -> Result<(Vec<FeatureBins>, Option<NeuralNetwork>), FileFault> {
    let features = &file.declared.features;
    let rows: Vec<FeatureBins> = features.iter().map(|feature| row(file, feature)).collect::<Result<_, _>>()?;
    let terms: Vec<(usize, f64)> = features
        .iter()
        .enumerate()
        .filter(|(_, feature)| feature.edges.is_none())
        .filter_map(|(at, feature)| Some((at, feature.weight?)))
        .collect();
    if terms.is_empty() {
        return Ok((rows, None));
    }
    let columns = terms.iter().map(|(at, _)| NeuralNetwork::figure(*at)).collect();
    let layer = NetworkLayer {
        weights: vec![terms.iter().map(|(_, weight)| *weight).collect()],
        biases: vec![0.0],
        activation: PLAIN,
    };
    let mut network = NeuralNetwork { columns, layers: vec![layer], single: false, predicts: Predicts::LOG_ODDS };
    network.fill(file, expressions)?;
    Ok((rows, Some(network)))
}

fn row(file: &DeclarationFile, feature: &Feature) -> Result<FeatureBins, FileFault> {
    let Some(edges) = &feature.edges else {
        return match (&feature.points, &feature.woe, feature.weight) {
            (None, None, Some(weight)) if weight.is_finite() => {
                Ok(FeatureBins { edges: Vec::new(), cells: vec![0.0; 2] })
            }
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
    Ok(FeatureBins { edges: edges.get_ref().clone(), cells })
}

/// Whether the bins never fall or, without `rising`, never rise from one to the next. The cell of an absent figure
/// does not count.
pub(crate) fn holds(row: &FeatureBins, rising: bool) -> bool {
    let bins = row.cells.get(..row.cells.len().saturating_sub(1)).unwrap_or_default();
    bins.is_sorted_by(|low, high| if rising { low <= high } else { low >= high })
}

/// Refuses what only a trained file needs.
pub(crate) fn without_trained(file: &DeclarationFile) -> Result<(), FileFault> {
    match &file.declared.score.predicts {
        Some(said) => Err(file.fault(said, "it belongs to `trained`, and a scorecard has none")),
        None => Ok(()),
    }
}

/// Refuses bins and weights in a declaration that names a file which has them; `key` is its name.
pub(crate) fn none(file: &DeclarationFile, key: &str) -> Result<(), FileFault> {
    let wrong = |feature: &Feature| {
        let given = feature.edges.is_some() || feature.points.is_some() || feature.woe.is_some();
        let message = format!("with `{key}` a feature has no bins and no weight");
        (given || feature.weight.is_some()).then(|| file.fault(&feature.name, message))
    };
    file.declared.features.iter().find_map(wrong).map_or(Ok(()), Err)
}
