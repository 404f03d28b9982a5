//! Checks that the input columns of the trees are the declared features.

use std::collections::HashMap;

use super::{
    PLAIN, Precision, changed,
    constants::{Constant, constants, keeps_rows},
    known::uninterpreted,
    proto::{DOUBLE, FLOAT, Graph, Input, Operator},
};
use crate::origin::same_names;

/// Where a tensor comes from.
enum TensorSource<'a> {
    Input(&'a Input),
    Operator(&'a Operator),
}

/// Compares the columns of `ensemble` with the features `names`: their number and, if each column is an input, their
/// names. The figures must come to it in its own precision.
///
/// # Errors
/// The first difference, or the operator that changes figures before the trees.
pub(super) fn check(graph: &Graph, ensemble: &Operator, names: &[&str], precision: Precision) -> Result<(), String> {
    let constants = constants(graph);
    let walk = |columns, tensor, single| source(graph, &constants, columns, tensor, single, precision);
    let (found, single) = walk(names.len(), ensemble.inputs.first(), false)?;
    match found {
        TensorSource::Input(input) => {
            let width = width(input)?;
            if width == names.len() {
                return Ok(());
            }
            Err(format!(
                "its input `{}` has {width} columns, and {} features are declared. Declare the features of the \
                 training, in its order, as `assay features table` writes them",
                input.name,
                names.len()
            ))
        }
        TensorSource::Operator(node) if node.name == "Concat" => {
            if let Some(why) = uninterpreted(node) {
                return Err(why);
            }
            let inputs = node.inputs.iter().map(|input| match walk(1, Some(input), single)?.0 {
                TensorSource::Input(input) if width(input)? == 1 => Ok(input.name.clone()),
                TensorSource::Input(input) => Err(format!(
                    "its input `{}` is joined with others and has several columns: export one input of all columns",
                    input.name
                )),
                TensorSource::Operator(other) => Err(changed(other)),
            });
            same_names(&inputs.collect::<Result<Vec<_>, _>>()?, names)
        }
        TensorSource::Operator(other) => Err(changed(other)),
    }
}

/// Follows a tensor back through the operators that change no figure. The second value is whether one of them, or one
/// after the tensor, makes it single precision.
fn source<'a>(
    graph: &'a Graph,
    constants: &HashMap<&str, Constant>,
    columns: usize,
    mut tensor: Option<&'a String>,
    mut single: bool,
    precision: Precision,
) -> Result<(TensorSource<'a>, bool), String> {
    // An operator comes after those that make its inputs, so no walk is longer than the list.
    for _ in 0..=graph.nodes.len() {
        let maker = graph.nodes.iter().find(|node| tensor.is_some_and(|tensor| node.outputs.contains(tensor)));
        match maker {
            Some(node) if PLAIN.contains(&node.name.as_str()) => {
                if let Some(why) = uninterpreted(node) {
                    return Err(why);
                }
                let to = node.attributes.iter().find(|attribute| attribute.name == "to").map(|to| to.int);
                match (node.name.as_str(), to) {
                    ("Cast", Some(to)) if to == i64::from(FLOAT) => single = true,
                    ("Cast", Some(to)) if to == i64::from(DOUBLE) => {}
                    ("Reshape", _) if !keeps_rows(constants, node, columns) => return Err(changed(node)),
                    ("Cast", _) => return Err(changed(node)),
                    _ => {}
                }
                tensor = node.inputs.first();
            }
            Some(node) => return Ok((TensorSource::Operator(node), single)),
            None => {
                let input = graph.inputs.iter().find(|input| Some(&input.name) == tensor);
                let input = input.ok_or("the input of its trees is not among the inputs of the model")?;
                let element = input.element();
                return match element {
                    Some(DOUBLE) if precision == Precision::Double && !single => {
                        Ok((TensorSource::Input(input), single))
                    }
                    Some(FLOAT | DOUBLE) if precision == Precision::Double => Err(format!(
                        "its trees have double precision, and its input `{}` has single, or an operator makes it \
                         single: export with DoubleTensorType",
                        input.name
                    )),
                    Some(DOUBLE) if !single => Err(format!(
                        "its input `{}` has double precision, and its trees have single: export with FloatTensorType",
                        input.name
                    )),
                    Some(FLOAT | DOUBLE) => Ok((TensorSource::Input(input), single)),
                    _ => Err(format!(
                        "its input `{}` has no figures of single precision: export with FloatTensorType",
                        input.name
                    )),
                };
            }
        }
    }
    Err("its operators form a circle".into())
}

impl Input {
    /// The type of its elements, if it is a tensor.
    pub(crate) fn element(&self) -> Option<i32> {
        Some(self.holds.as_ref()?.tensor.as_ref()?.element)
    }
}

/// The columns of an input.
pub(crate) fn width(input: &Input) -> Result<usize, String> {
    let shape = input.holds.as_ref().and_then(|holds| holds.tensor.as_ref()?.shape.as_ref());
    let columns = shape.and_then(|shape| if let [_, columns] = &shape.sizes[..] { Some(columns.value) } else { None });
    let columns = columns.and_then(|columns| usize::try_from(columns).ok()).filter(|columns| *columns > 0);
    columns.ok_or_else(|| {
        format!(
            "its input `{}` does not say how many columns it has: export with FloatTensorType([None, COLUMNS])",
            input.name
        )
    })
}
