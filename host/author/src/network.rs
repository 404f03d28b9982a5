//! A linear model or a small network: columns that are made of the features, and layers over them.

use tables::{
    data::{Column, Kind, Section},
    network::{RELU, SIGMOID, TANH},
};
use toml::Spanned;

use crate::{
    FileFault,
    declaration::DeclarationFile,
    language::Expression,
    packed::{Packed, number},
    predicts::Predicts,
    training::Training,
};

/// The most columns, the most units of a layer, and the most layers.
pub(crate) const WIDEST: usize = 1024;
pub(crate) const LAYERS: usize = 16;

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NeuralNetwork {
    pub columns: Vec<Column>,
    pub layers: Vec<NetworkLayer>,
    /// Figures and weights have single precision.
    pub single: bool,
    pub predicts: Predicts,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NetworkLayer {
    /// The weights of each unit, one for each unit of the layer before.
    pub weights: Vec<Vec<f64>>,
    pub biases: Vec<f64>,
    /// One of those in [`tables::network`].
    pub activation: u32,
}

impl NeuralNetwork {
    /// The figure of a feature as a column.
    pub(crate) fn figure(feature: usize) -> Column {
        Column {
            feature,
            kind: Kind::Number,
            fill: f64::NAN,
            factor: 1.0,
            offset: 0.0,
            low: f64::NEG_INFINITY,
            high: f64::INFINITY,
            mean: 0.0,
        }
    }

    /// Takes `absent` of each feature as the figure in place of an absent one.
    ///
    /// # Errors
    /// The first feature that may be absent, and has nothing in place of it.
    pub(crate) fn fill(&mut self, file: &DeclarationFile, expressions: &[Expression]) -> Result<(), FileFault> {
        for (at, (feature, expression)) in file.declared.features.iter().zip(expressions).enumerate() {
            let declared = feature.absent.as_ref().map(Spanned::get_ref);
            for column in self.columns.iter_mut().filter(|column| column.feature == at && column.kind != Kind::Absent) {
                match (declared, &feature.absent) {
                    (Some(absent), Some(place)) if !column.fill.is_nan() || !absent.is_finite() => {
                        let message = format!(
                            "the file has {} in place of an absent figure: remove `absent`, which is a finite number \
                             for models without an imputer",
                            column.fill
                        );
                        return Err(file.fault(place, message));
                    }
                    (Some(absent), _) => column.fill = *absent,
                    (None, _) if column.kind == Kind::Number && column.fill.is_nan() && expression.can_be_absent => {
                        let name = feature.name.get_ref();
                        let message = format!(
                            "`{name}` can be absent, and a linear model or network needs a number: add `absent = 0`, \
                             or what the training had in its place"
                        );
                        return Err(file.fault(&feature.name, message));
                    }
                    (None, _) => {}
                }
            }
        }
        Ok(())
    }

    /// Takes the mean of each column over the table of the training.
    pub(crate) fn center(&mut self, training: &Training) {
        for column in &mut self.columns {
            let values: Vec<f64> = training
                .rows
                .iter()
                .map(|row| column.value(row, self.single))
                .filter(|value| value.is_finite())
                .collect();
            column.mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        }
    }

    /// Whether the margin never falls or, without `rising`, never rises with a feature. Also false if the signs of the
    /// weights do not show it.
    pub(crate) fn holds(&self, feature: usize, rising: bool) -> bool {
        // Whether each number can rise, and whether it can fall, when the feature rises.
        let mut ways: Vec<(bool, bool)> = self
            .columns
            .iter()
            .map(|column| match column.kind {
                _ if column.feature != feature => (false, false),
                Kind::Number => (column.factor > 0.0, column.factor < 0.0),
                Kind::Equal | Kind::Absent => (true, true),
            })
            .collect();
        for layer in &self.layers {
            let unit = |weights: &Vec<f64>| {
                let can = |rise: bool| {
                    let turned = |(weight, (rises, falls)): (&f64, &(bool, bool))| {
                        (*weight > 0.0 && if rise { *rises } else { *falls })
                            || (*weight < 0.0 && if rise { *falls } else { *rises })
                    };
                    weights.iter().zip(&ways).any(turned)
                };
                (can(true), can(false))
            };
            ways = layer.weights.iter().map(unit).collect();
        }
        ways.first().is_none_or(|(rises, falls)| !if rising { *falls } else { *rises })
    }

    /// Packs columns, layers and weights.
    pub(crate) fn put(&self, packed: &mut Packed) {
        packed.put(Section::Columns, self.columns.iter().flat_map(|column| column.bytes()));
        let shapes = self.layers.iter().flat_map(|layer| [number(layer.biases.len()), layer.activation]);
        packed.numbers(Section::Layers, shapes);
        let weights = self.layers.iter().flat_map(|layer| layer.weights.iter().flatten().chain(&layer.biases).copied());
        if self.single { packed.singles(Section::Weights, weights) } else { packed.doubles(Section::Weights, weights) }
    }

    /// What it is, in one line.
    pub(crate) fn summary(&self, features: usize) -> String {
        if self.layers.len() == 1 {
            return format!("a linear model of {} columns over {features} features", self.columns.len());
        }
        let name = |layer: &NetworkLayer| {
            let units = layer.biases.len();
            match layer.activation {
                RELU => format!("{units} relu"),
                SIGMOID => format!("{units} sigmoid"),
                TANH => format!("{units} tanh"),
                _ => units.to_string(),
            }
        };
        let layers: Vec<String> = self.layers.iter().map(name).collect();
        format!(
            "a network of {} columns over {features} features, with layers of {} units",
            self.columns.len(),
            layers.join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use tables::network::PLAIN;

    use super::*;

    #[test]
    fn the_signs_of_the_weights_show_a_direction() {
        let layer = |weights: &[&[f64]], activation| NetworkLayer {
            weights: weights.iter().map(|unit| unit.to_vec()).collect(),
            biases: vec![0.0; weights.len()],
            activation,
        };
        let network = |layers| NeuralNetwork {
            columns: vec![NeuralNetwork::figure(0), NeuralNetwork::figure(1)],
            layers,
            single: false,
            predicts: Predicts::LOG_ODDS,
        };
        let linear = network(vec![layer(&[&[2.0, -1.0]], PLAIN)]);
        assert!(linear.holds(0, true) && !linear.holds(0, false) && linear.holds(1, false) && linear.holds(7, true));
        let deep = |last: [f64; 2]| network(vec![layer(&[&[2.0, -1.0], &[-3.0, 0.0]], RELU), layer(&[&last], PLAIN)]);
        assert!(deep([1.0, -1.0]).holds(0, true) && deep([1.0, -1.0]).holds(1, false));
        assert!(!deep([1.0, 1.0]).holds(0, true) && !deep([1.0, 1.0]).holds(0, false));
    }
}
