//! The operators that are read, each with the attributes that are interpreted. Whatever is not listed here is refused,
//! never taken for its default.

use super::proto::{Attribute, Graph, Operator};

/// The domain of scikit-learn's operators.
const ML: &str = "ai.onnx.ml";

/// An attribute, and whether its value is one that is interpreted.
type KnownAttribute = (&'static str, fn(&Attribute) -> bool);

const ANY: fn(&Attribute) -> bool = |_| true;
const ZERO: fn(&Attribute) -> bool = |attribute| attribute.int == 0;
const COLUMNS: fn(&Attribute) -> bool = |attribute| matches!(attribute.int, 1 | -1);

/// The attributes of an operator of this domain; `None` if it is not read.
fn known(domain: &str, name: &str) -> Option<&'static [KnownAttribute]> {
    Some(match (domain, name) {
        ("", "Identity" | "Mul" | "Div" | "Add" | "Sub" | "MatMul" | "Relu" | "Sigmoid" | "Tanh") => &[],
        ("", "Constant") => {
            &[("value", ANY), ("value_float", ANY), ("value_floats", ANY), ("value_int", ANY), ("value_ints", ANY)]
        }
        // `saturate` is for types that are refused.
        ("", "Cast") => &[("to", ANY), ("saturate", ANY)],
        ("", "Reshape") => &[("allowzero", ZERO)],
        ("", "Flatten" | "Softmax") => &[("axis", COLUMNS)],
        // What an output is dropped by counts only in training.
        ("", "Dropout") => &[("ratio", ANY), ("seed", ANY)],
        ("", "BatchNormalization") => &[("epsilon", ANY), ("momentum", ANY), ("training_mode", ZERO)],
        ("", "Clip") => &[("min", ANY), ("max", ANY)],
        ("", "Concat") => &[("axis", |axis| matches!(axis.int, 1 | 2 | -1))],
        ("", "Gather") => &[("axis", COLUMNS)],
        ("", "Gemm") => &[("alpha", ANY), ("beta", ANY), ("transA", ZERO), ("transB", ANY)],
        (ML, "ArrayFeatureExtractor") => &[],
        (ML, "ZipMap") => &[("classlabels_int64s", ANY), ("classlabels_strings", ANY)],
        (ML, "Normalizer") => &[("norm", |norm| norm.text == b"L1")],
        (ML, "Imputer") => &[("imputed_value_floats", ANY), ("replaced_value_float", ANY)],
        (ML, "Scaler") => &[("offset", ANY), ("scale", ANY)],
        (ML, "OneHotEncoder") => &[("cats_int64s", ANY), ("zeros", ANY)],
        (ML, "LinearRegressor") => {
            &[("coefficients", ANY), ("intercepts", ANY), ("post_transform", ANY), ("targets", |one| one.int == 1)]
        }
        (ML, "LinearClassifier") => &[
            ("coefficients", ANY),
            ("intercepts", ANY),
            ("post_transform", ANY),
            ("classlabels_ints", ANY),
            ("classlabels_strings", ANY),
            // It changes nothing of two classes.
            ("multi_class", ANY),
        ],
        (ML, "TreeEnsembleRegressor") => &[
            ("aggregate_function", ANY),
            ("base_values", ANY),
            ("base_values_as_tensor", ANY),
            ("n_targets", |one| one.int == 1),
            ("nodes_falsenodeids", ANY),
            ("nodes_featureids", ANY),
            ("nodes_hitrates", ANY),
            ("nodes_missing_value_tracks_true", ANY),
            ("nodes_modes", ANY),
            ("nodes_nodeids", ANY),
            ("nodes_treeids", ANY),
            ("nodes_truenodeids", ANY),
            ("nodes_values", ANY),
            ("nodes_values_as_tensor", ANY),
            ("post_transform", ANY),
            ("target_ids", ANY),
            ("target_nodeids", ANY),
            ("target_treeids", ANY),
            ("target_weights", ANY),
            ("target_weights_as_tensor", ANY),
        ],
        (ML, "TreeEnsembleClassifier") => &[
            ("base_values", ANY),
            ("base_values_as_tensor", ANY),
            ("class_ids", ANY),
            ("class_nodeids", ANY),
            ("class_treeids", ANY),
            ("class_weights", ANY),
            ("class_weights_as_tensor", ANY),
            ("classlabels_int64s", ANY),
            ("classlabels_strings", ANY),
            ("nodes_falsenodeids", ANY),
            ("nodes_featureids", ANY),
            ("nodes_hitrates", ANY),
            ("nodes_missing_value_tracks_true", ANY),
            ("nodes_modes", ANY),
            ("nodes_nodeids", ANY),
            ("nodes_treeids", ANY),
            ("nodes_truenodeids", ANY),
            ("nodes_values", ANY),
            ("nodes_values_as_tensor", ANY),
            ("post_transform", ANY),
        ],
        _ => return None,
    })
}

/// Why an operator that has a reader cannot be read; `None` if all of it is interpreted, or if it has none.
pub(crate) fn uninterpreted(node: &Operator) -> Option<String> {
    let domain = if node.domain == "ai.onnx" { "" } else { node.domain.as_str() };
    let Some(attributes) = known(domain, &node.name) else {
        return known("", &node.name).or_else(|| known(ML, &node.name)).map(|_| {
            format!("it has the operator {} of the domain {domain:?}, which is not the one of ONNX", node.name)
        });
    };
    // Its default, `MAX`, makes other numbers of probabilities.
    if node.name == "Normalizer" && node.attributes.iter().all(|attribute| attribute.name != "norm") {
        return Some("its operator Normalizer has no `norm`: export it with L1, or without the operator".to_owned());
    }
    for attribute in &node.attributes {
        let found = attributes.iter().find(|(name, _)| *name == attribute.name);
        match found {
            Some((_, is_interpreted)) if attribute.refers.is_empty() && is_interpreted(attribute) => {}
            Some(_) => {
                return Some(format!(
                    "`{}` of its operator {} has a value that no model can have: export it without",
                    attribute.name, node.name
                ));
            }
            None => {
                return Some(format!(
                    "its operator {} has `{}`, which is not read: export it without, or with a newer opset",
                    node.name, attribute.name
                ));
            }
        }
    }
    None
}

/// Refuses a graph with parts that are not read at all.
///
/// # Errors
/// The first such part.
pub(crate) fn check(graph: &Graph) -> Result<(), String> {
    if !graph.sparse.is_empty() {
        return Err("it has sparse constants, which are not read: export dense ones".to_owned());
    }
    // Of several with one name, runtimes and this reader could take different ones.
    let mut names: Vec<&String> =
        graph.nodes.iter().flat_map(|node| &node.outputs).filter(|name| !name.is_empty()).collect();
    names.extend(graph.constants.iter().map(|constant| &constant.name));
    names.sort_unstable();
    let twice = names.iter().zip(names.iter().skip(1)).find(|(name, next)| name == next);
    twice.map_or(Ok(()), |(name, _)| Err(format!("two of its tensors are named `{name}`")))
}
