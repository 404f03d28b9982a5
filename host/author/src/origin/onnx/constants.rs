//! The constants of a graph.

use std::collections::HashMap;

use super::proto::{Graph, Tensor};

/// Element types of ONNX.
const FLOAT: i32 = 1;
const INT32: i32 = 6;
const INT64: i32 = 7;

/// A constant: its numbers in the order of its last size, and its sizes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Constant {
    pub sizes: Vec<usize>,
    pub numbers: Vec<f64>,
}

impl Constant {
    /// `None` for a constant of another element type.
    fn of(tensor: &Tensor) -> Option<Self> {
        let sizes: Vec<usize> = tensor.sizes.iter().map(|size| usize::try_from(*size).ok()).collect::<Option<_>>()?;
        let (singles, doubles) = (tensor.raw.as_chunks().0, tensor.raw.as_chunks().0);
        let numbers: Vec<f64> = match tensor.element {
            FLOAT if tensor.raw.is_empty() => tensor.floats.iter().copied().map(f64::from).collect(),
            FLOAT => singles.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes))).collect(),
            // Places and sizes, which a double has exactly.
            INT64 if tensor.raw.is_empty() => tensor.ints.iter().map(|number| *number as f64).collect(),
            INT64 => doubles.iter().map(|bytes| i64::from_le_bytes(*bytes) as f64).collect(),
            INT32 => singles.iter().map(|bytes| f64::from(i32::from_le_bytes(*bytes))).collect(),
            _ => return None,
        };
        (sizes.iter().product::<usize>() == numbers.len()).then_some(Self { sizes, numbers })
    }

    /// One number for each of `width` columns; the same for all if it is a single one.
    pub(crate) fn each(&self, width: usize) -> Option<Vec<f64>> {
        match self.numbers.as_slice() {
            [one] => Some(vec![*one; width]),
            numbers => (numbers.len() == width).then(|| numbers.to_vec()),
        }
    }

    /// The only number.
    pub(crate) fn one(&self) -> Option<f64> {
        if let [one] = self.numbers[..] { Some(one) } else { None }
    }

    /// The numbers as places.
    pub(crate) fn places(&self) -> Vec<usize> {
        self.numbers.iter().map(|number| *number as usize).collect()
    }

    /// The weights of each of its columns or, if `by_row`, of each of its rows.
    pub(crate) fn units(&self, by_row: bool) -> Option<Vec<Vec<f64>>> {
        let [rows, columns] = self.sizes[..] else { return None };
        if rows == 0 || columns == 0 {
            return None;
        }
        let mut units: Vec<Vec<f64>> = self.numbers.chunks(columns).map(<[f64]>::to_vec).collect();
        if !by_row {
            let column = |at: usize| units.iter().filter_map(|row| row.get(at).copied()).collect();
            units = (0..columns).map(column).collect();
        }
        Some(units)
    }
}

/// The constants by name: initializers, and operators that make one.
pub(crate) fn constants(graph: &Graph) -> HashMap<&str, Constant> {
    let given = graph.constants.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let made = graph.nodes.iter().filter(|node| node.name == "Constant").filter_map(|node| {
        let value = node.attributes.iter().find(|attribute| attribute.name == "value")?;
        Some((node.outputs.first()?.as_str(), value.tensor.as_ref()?))
    });
    given.chain(made).filter_map(|(name, tensor)| Some((name, Constant::of(tensor)?))).collect()
}
