//! The labels of a classifier.

use super::proto::{Graph, Operator};

pub(crate) const TWO: &str = "it does not have two classes; a score needs a bad and a good outcome";

/// Pairs of labels, in lower case, of which the second is outcome 1.
const NUMBERED: [[&str; 2]; 2] = [["0", "1"], ["false", "true"]];

/// The label of the second class, whose log-odds a classifier predicts; `None` if it is outcome 1 or has no label.
///
/// # Errors
/// There are not two classes.
pub(crate) fn second(graph: &Graph) -> Result<Option<String>, String> {
    let mut second = None;
    for labels in graph.nodes.iter().map(|node| of(graph, node)).filter(|labels| !labels.is_empty()) {
        let [zero, one] = labels.as_slice() else { return Err(TWO.to_owned()) };
        if !NUMBERED.contains(&[&*zero.to_ascii_lowercase(), &*one.to_ascii_lowercase()]) {
            second = Some(one.clone());
        }
    }
    Ok(second)
}

/// The labels that an operator has or gives.
fn of(graph: &Graph, node: &Operator) -> Vec<String> {
    let listed = |ints: &[i64], texts: &[Vec<u8>]| -> Vec<String> {
        let texts = texts.iter().map(|text| String::from_utf8_lossy(text).into_owned());
        ints.iter().map(ToString::to_string).chain(texts).collect()
    };
    if node.name == "ArrayFeatureExtractor" {
        let of_place = |place: &String| graph.nodes.iter().any(|n| n.name == "ArgMax" && n.outputs.contains(place));
        let [classes, place] = node.inputs.as_slice() else { return Vec::new() };
        let constant = graph.constants.iter().find(|constant| constant.name == *classes && of_place(place));
        return constant.map_or_else(Vec::new, |constant| match constant.ints.as_slice() {
            [] => listed(&constant.whole.iter().copied().map(i64::from).collect::<Vec<_>>(), &constant.texts),
            ints => listed(ints, &[]),
        });
    }
    let named = |begins: &str| {
        let found = node.attributes.iter().filter(move |attribute| attribute.name.starts_with(begins));
        found.flat_map(|attribute| listed(&attribute.ints, &attribute.texts)).collect()
    };
    if node.name == "LabelEncoder" { named("values_") } else { named("classlabels_") }
}
