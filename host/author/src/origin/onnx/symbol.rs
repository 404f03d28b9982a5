//! What a tensor of a graph is: columns of the features, a network over them, or something that no model has.

use tables::{
    data::{Column, Kind},
    network::{PLAIN, SIGMOID},
};

use crate::{
    network::{NetworkLayer, NeuralNetwork},
    predicts::Predicts,
};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Symbol {
    Columns(Vec<Column>),
    /// Columns cut to whole numbers.
    Whole(Vec<Column>),
    Layers(Layers),
    /// 1 minus the probability of this name.
    Rest(String),
    /// Why a score cannot follow from it.
    Other(String),
}

/// A network, up to a layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layers {
    pub columns: Vec<Column>,
    pub layers: Vec<NetworkLayer>,
    pub makes: Makes,
}

/// What the last layer makes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Makes {
    /// Its results.
    Results,
    /// Probabilities of the classes 0 and 1 from log-odds.
    Probabilities,
    /// The probability of class 1.
    Probability,
    /// Log-odds, by an operator that does not say so.
    Value(&'static str),
}

/// The columns, each multiplied and moved. `None` if one is a category.
pub(crate) fn moved(columns: &[Column], factors: &[f64], offsets: &[f64]) -> Option<Vec<Column>> {
    let each = |((column, factor), offset): ((&Column, &f64), &f64)| {
        if column.kind != Kind::Number {
            return (*factor == 1.0 && *offset == 0.0).then_some(*column);
        }
        let bound = |bound: f64| if *factor == 0.0 { *offset } else { bound * factor + offset };
        let (low, high) = (bound(column.low), bound(column.high));
        Some(Column {
            factor: column.factor * factor,
            offset: column.offset * factor + offset,
            low: low.min(high),
            high: low.max(high),
            ..*column
        })
    };
    columns.iter().zip(factors).zip(offsets).map(each).collect()
}

/// The columns with `fills` instead of absent figures. `None` if one cannot have it: the fill of an absent figure is
/// bounded with the others, and an imputer after bounds does not bound it.
pub(crate) fn filled(columns: &[Column], fills: &[f64]) -> Option<Vec<Column>> {
    let each = |(column, fill): (&Column, &f64)| {
        // The imputer sees the figure as it was changed before.
        let figure = (fill - column.offset) / column.factor;
        if column.kind != Kind::Number || !column.fill.is_nan() {
            return Some(*column);
        }
        let is_free = column.low == f64::NEG_INFINITY && column.high == f64::INFINITY;
        (figure.is_finite() && is_free).then_some(Column { fill: figure, ..*column })
    };
    columns.iter().zip(fills).map(each).collect()
}

/// The columns within bounds.
pub(crate) fn bounded(columns: &[Column], low: f64, high: f64) -> Option<Vec<Column>> {
    let each = |column: &Column| {
        let bound = |bound: f64| {
            if bound > high {
                high
            } else if bound < low {
                low
            } else {
                bound
            }
        };
        (column.kind == Kind::Number).then(|| Column { low: bound(column.low), high: bound(column.high), ..*column })
    };
    columns.iter().map(each).collect()
}

impl Layers {
    pub(crate) fn width(&self) -> usize {
        self.layers.last().map_or(self.columns.len(), |layer| layer.biases.len())
    }

    /// With one more layer. `None` if the weights are not those of its inputs.
    pub(crate) fn with(mut self, weights: Vec<Vec<f64>>, biases: Vec<f64>) -> Option<Self> {
        let width = self.width();
        let fits = weights.iter().all(|unit| unit.len() == width) && weights.len() == biases.len();
        if !fits || self.makes != Makes::Results {
            return None;
        }
        self.layers.push(NetworkLayer { weights, biases, activation: PLAIN });
        Some(self)
    }

    /// With sums of the last layer that are multiplied and moved. `None` if something follows them.
    pub(crate) fn moved(mut self, factors: &[f64], offsets: &[f64]) -> Option<Self> {
        let last = self.layers.last_mut().filter(|last| last.activation == PLAIN && self.makes == Makes::Results)?;
        for (((unit, bias), factor), offset) in last.weights.iter_mut().zip(&mut last.biases).zip(factors).zip(offsets)
        {
            unit.iter_mut().for_each(|weight| *weight *= factor);
            *bias = *bias * factor + offset;
        }
        Some(self)
    }

    /// With this after the sums of the last layer. `None` if something else follows them.
    pub(crate) fn activated(mut self, activation: u32) -> Option<Self> {
        let last = self.layers.last_mut().filter(|last| last.activation == PLAIN && self.makes == Makes::Results)?;
        last.activation = activation;
        Some(self)
    }

    /// The probabilities of two classes whose log-odds are the difference of the two sums.
    pub(crate) fn softmax(mut self) -> Option<Self> {
        let last = self.layers.last_mut().filter(|last| last.activation == PLAIN && self.makes == Makes::Results)?;
        let ([zero, one], [zero_bias, one_bias]) = (last.weights.as_slice(), last.biases.as_slice()) else {
            return None;
        };
        let weights = one.iter().zip(zero).map(|(one, zero)| one - zero).collect();
        (last.weights, last.biases) = (vec![weights], vec![one_bias - zero_bias]);
        self.makes = Makes::Probabilities;
        Some(self)
    }

    /// Whether it is one probability.
    pub(crate) fn is_probability(&self) -> bool {
        let sigmoid = self.layers.last().is_some_and(|last| last.activation == SIGMOID && last.biases.len() == 1);
        self.makes == Makes::Probability || (sigmoid && self.makes == Makes::Results)
    }

    /// The network whose result is the margin.
    ///
    /// # Errors
    /// The last layer has several results.
    pub(crate) fn network(mut self) -> Result<NeuralNetwork, String> {
        let Some(last) = self.layers.last_mut() else { return Err("it computes nothing".into()) };
        if last.biases.len() != 1 {
            return Err(
                "it has several outputs; a score needs one margin, that of the bad or of the good outcome".into()
            );
        }
        let predicts = match self.makes {
            Makes::Probabilities | Makes::Probability => Predicts::LOG_ODDS,
            Makes::Value(why) => Predicts::Value(why.into()),
            Makes::Results if last.activation == SIGMOID => {
                last.activation = PLAIN;
                Predicts::LOG_ODDS
            }
            Makes::Results => Predicts::Value("it has no Sigmoid or Softmax at its end".into()),
        };
        Ok(NeuralNetwork { columns: self.columns, layers: self.layers, single: true, predicts })
    }
}
