//! A linear model or a small network over columns computed from the features, and what each feature adds to the margin.
//!
//! The parts are those of DeepLIFT's rescale rule (Shrikumar, Greenside and Kundaje, "Learning Important Features Through
//! Propagating Activation Differences", 2017), against the mean of each column in the training. Of a linear model these
//! are its weights times the distances from the means. They add up to the distance from the margin at the means.

use crate::{
    data::{COLUMN, Column, Data, LAYER, Section, Shape, double, number, single},
    forest::Values,
};

/// What follows the sums of a layer.
pub const PLAIN: u32 = 0;
pub const RELU: u32 = 1;
pub const SIGMOID: u32 = 2;
pub const TANH: u32 = 3;

/// Two sums that are closer than this differ by their slope.
const CLOSE: f64 = 1e-7;

/// A number for a wallet, and for the mean of the training.
#[derive(Clone, Copy, Default)]
struct Both {
    here: f64,
    mean: f64,
}

impl Both {
    fn each(self, of: impl Fn(f64) -> f64) -> Self {
        Self { here: of(self.here), mean: of(self.mean) }
    }
}

/// The sums and the results of a layer.
struct Layer {
    /// Where its weights begin.
    weights: usize,
    activation: u32,
    sums: Vec<Both>,
    results: Vec<Both>,
}

/// The margin of the network, and what each feature adds to it in `parts`; 0 in a model without.
pub fn network(data: Data<'_>, values: &Values, parts: &mut Values) -> f64 {
    let columns = data.section(Section::Columns).as_chunks::<COLUMN>().0;
    if columns.is_empty() {
        return 0.0;
    }
    let is_single = data.shape(Shape::Single) == 1;
    let columns: Vec<Column> = columns.iter().map(Column::read).collect();
    let inputs: Vec<Both> =
        columns.iter().map(|column| Both { here: column.value(values, is_single), mean: column.mean }).collect();
    let weights = data.section(Section::Weights);
    let weight = |at: usize| if is_single { single(weights, at) } else { double(weights, at) };
    let (mut layers, mut start) = (Vec::<Layer>::new(), 0);
    for shape in data.section(Section::Layers).as_chunks::<LAYER>().0 {
        let (units, activation) = (number(shape, 0) as usize, number(shape, 1));
        let from = layers.last().map_or(&inputs, |layer| &layer.results);
        let bias = start + units * from.len();
        let sum = |unit: usize| {
            let (row, bias) = (start + unit * from.len(), weight(bias + unit));
            let mut sum = Both { here: bias, mean: bias };
            for (at, input) in from.iter().enumerate() {
                let weight = weight(row + at);
                sum.here += weight * input.here;
                sum.mean += weight * input.mean;
            }
            sum
        };
        let sums: Vec<Both> = (0..units).map(sum).collect();
        let results = sums.iter().map(|sum| sum.each(|sum| active(activation, sum))).collect();
        layers.push(Layer { weights: start, activation, sums, results });
        start = bias + units;
    }
    let margin = layers.last().and_then(|layer| layer.results.first()).map_or(0.0, |margin| margin.here);
    // What a change of each result changes in the margin, from the last layer to the columns.
    let mut slopes = vec![1.0];
    for (at, layer) in layers.iter().enumerate().rev() {
        let width = at.checked_sub(1).and_then(|at| layers.get(at)).map_or(columns.len(), |layer| layer.results.len());
        let mut before = vec![0.0; width];
        for (unit, ((sum, result), slope)) in layer.sums.iter().zip(&layer.results).zip(&slopes).enumerate() {
            let slope = slope * rise(layer.activation, *sum, *result);
            if slope == 0.0 {
                continue;
            }
            for (at, before) in before.iter_mut().enumerate() {
                *before += slope * weight(layer.weights + unit * width + at);
            }
        }
        slopes = before;
    }
    for ((column, input), slope) in columns.iter().zip(&inputs).zip(&slopes) {
        if let Some(part) = parts.get_mut(column.feature) {
            *part += slope * (input.here - input.mean);
        }
    }
    margin
}

fn active(activation: u32, sum: f64) -> f64 {
    match activation {
        RELU if sum <= 0.0 => 0.0,
        SIGMOID => sigmoid(sum),
        TANH => libm::tanh(sum),
        _ => sum,
    }
}

pub fn sigmoid(sum: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-sum))
}

/// How much the result rises for each 1 of the sum, between the mean and the wallet.
fn rise(activation: u32, sum: Both, result: Both) -> f64 {
    let distance = sum.here - sum.mean;
    if distance.abs() > CLOSE {
        return (result.here - result.mean) / distance;
    }
    match activation {
        RELU => f64::from(u8::from(sum.here > 0.0)),
        SIGMOID => result.here * (1.0 - result.here),
        TANH => 1.0 - result.here * result.here,
        _ => 1.0,
    }
}
