//! The constants of a graph.

use std::collections::HashMap;

use super::proto::{DOUBLE, FLOAT, Graph, INT32, INT64, Operator, Tensor};

/// The numbers of a list of double precision; `None` for another tensor.
pub(crate) fn doubles(tensor: &Tensor) -> Option<Vec<f64>> {
    let numbers: Vec<f64> = match tensor.raw.as_chunks() {
        ([], []) => tensor.doubles.clone(),
        (raw, []) => raw.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect(),
        _ => return None,
    };
    let is_list = matches!(tensor.sizes[..], [size] if usize::try_from(size) == Ok(numbers.len()));
    (tensor.element == DOUBLE && is_list).then_some(numbers)
}

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

    /// One number for each of `width` columns; the same for all if it is a single one. `None` if its sizes are not
    /// those of a row, because it then has other numbers for other wallets.
    pub(crate) fn each(&self, width: usize) -> Option<Vec<f64>> {
        if !matches!(self.sizes[..], [] | [_] | [1, _]) {
            return None;
        }
        match self.numbers.as_slice() {
            [one] => Some(vec![*one; width]),
            numbers => (numbers.len() == width).then(|| numbers.to_vec()),
        }
    }

    /// The only number.
    pub(crate) fn one(&self) -> Option<f64> {
        if let [one] = self.numbers[..] { Some(one) } else { None }
    }

    /// The numbers as places of `width` columns; a negative one counts from the end if `from_end`. `None` if there is
    /// no such column.
    pub(crate) fn places(&self, width: usize, from_end: bool) -> Option<Vec<usize>> {
        let place = |number: &f64| {
            let moved = if from_end && *number < 0.0 { *number + width as f64 } else { *number };
            (moved >= 0.0 && moved < width as f64 && moved.fract() == 0.0).then_some(moved as usize)
        };
        self.numbers.iter().map(place).collect()
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

/// Whether a `Reshape` leaves rows of `width` columns as they are.
pub(crate) fn keeps_rows(constants: &HashMap<&str, Constant>, node: &Operator, width: usize) -> bool {
    let shape = node.inputs.get(1).and_then(|shape| constants.get(shape.as_str()));
    let Some(Constant { numbers, .. }) = shape else { return false };
    let is_width = |number: f64| number == width as f64;
    match numbers[..] {
        // All rows in one line, which are rows of one column.
        [-1.0] => width == 1,
        [-1.0, columns] => is_width(columns),
        [0.0, columns] => is_width(columns) || columns == -1.0,
        _ => false,
    }
}

/// The constants by name: initializers, and operators that make one.
pub(crate) fn constants(graph: &Graph) -> HashMap<&str, Constant> {
    let given = graph.constants.iter().map(|tensor| (tensor.name.as_str(), tensor));
    let given = given.filter_map(|(name, tensor)| Some((name, Constant::of(tensor)?)));
    let made = graph.nodes.iter().filter(|node| node.name == "Constant");
    let made = made.filter_map(|node| Some((node.outputs.first()?.as_str(), made_by(node)?)));
    given.chain(made).collect()
}

/// What the operator `Constant` makes.
fn made_by(node: &Operator) -> Option<Constant> {
    let [value] = &node.attributes[..] else { return None };
    let list = |numbers: Vec<f64>| Constant { sizes: vec![numbers.len()], numbers };
    let one = |number: f64| Constant { sizes: Vec::new(), numbers: vec![number] };
    match value.name.as_str() {
        "value" => Constant::of(value.tensor.as_ref()?),
        "value_float" => Some(one(f64::from(value.float))),
        "value_floats" => Some(list(value.floats.iter().copied().map(f64::from).collect())),
        "value_int" => Some(one(value.int as f64)),
        "value_ints" => Some(list(value.ints.iter().map(|number| *number as f64).collect())),
        _ => None,
    }
}
